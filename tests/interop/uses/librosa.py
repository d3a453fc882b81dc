"""librosa: sound and music."""

import librosa
import numpy as np

TOLERANCES = {"features": 1e-6, "spectra": 1e-6, "time": 1e-6}


def spectra(large):
    s = np.abs(librosa.stft(large.astype(np.float32), n_fft=512))
    return s, librosa.amplitude_to_db(s), librosa.istft(librosa.stft(large, n_fft=512))


def features(large):
    y = large.astype(np.float32)
    return (
        librosa.feature.mfcc(y=y, sr=8000, n_mfcc=5),
        librosa.feature.rms(y=y),
        librosa.feature.spectral_centroid(y=y, sr=8000),
    )


def time(large):
    return (
        librosa.util.frame(large, frame_length=100, hop_length=50),
        librosa.zero_crossings(large - 0.5),
        librosa.onset.onset_strength(y=large, sr=8000),
        librosa.hz_to_mel(large[:5] * 1000),
    )
