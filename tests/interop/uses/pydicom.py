"""pydicom: medical images."""

import io

import numpy as np
import pydicom
from pydicom.dataset import FileDataset, FileMetaDataset
from pydicom.pixels import apply_modality_lut, apply_windowing, set_pixel_data
from pydicom.uid import ExplicitVRLittleEndian, SecondaryCaptureImageStorage


def _image(x):
    meta = FileMetaDataset()
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    meta.MediaStorageSOPClassUID = SecondaryCaptureImageStorage
    meta.MediaStorageSOPInstanceUID = "1.2.3"
    made = FileDataset("a.dcm", {}, file_meta=meta, preamble=b"\0" * 128)
    pixels = (x.reshape(-1, 20) * 900).astype(np.uint16) * 2
    made.Rows, made.Columns = pixels.shape
    made.SamplesPerPixel = 1
    made.BitsAllocated = made.BitsStored = 16
    made.HighBit, made.PixelRepresentation = 15, 0
    made.PhotometricInterpretation = "MONOCHROME2"
    made.PixelData = pixels.tobytes()
    made.SOPClassUID, made.SOPInstanceUID = meta.MediaStorageSOPClassUID, "1.2.3"
    return made, pixels


def pixels(x):
    made, _ = _image(x)
    return made.pixel_array * 2, made.pixel_array.max()


def files(x):
    made, _ = _image(x)
    file = io.BytesIO()
    made.save_as(file)
    file.seek(0)
    return pydicom.dcmread(file).pixel_array + 1


def set_by_function(x):
    made, pixels = _image(x)
    set_pixel_data(made, pixels + 1, "MONOCHROME2", 16)
    return made.pixel_array, made["PixelData"].VR


def levels(x):
    made, pixels = _image(x)
    made.RescaleSlope, made.RescaleIntercept = "2", "-5"
    made.WindowCenter, made.WindowWidth = 500, 300
    return apply_modality_lut(pixels, made), apply_windowing(pixels + 1, made), pixels


def elements(x):
    made, _ = _image(x)
    made.PixelSpacing = list((x[:2] * 2).round(3))
    made.ImagePositionPatient = (x[:3] * 9).round(2).tolist()
    return [float(v) for v in made.PixelSpacing], np.array(
        made.ImagePositionPatient
    ) * 2


def error_dtype(x):
    made, pixels = _image(x)
    set_pixel_data(made, pixels.astype(float), "MONOCHROME2", 16)
