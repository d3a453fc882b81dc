"""mne: recordings of the brain."""

import mne
import numpy as np

mne.set_log_level("ERROR")
# Products of matrices, and Fourier transforms of other lengths.
TOLERANCES = {
    "filters": 1e-10,
    "epochs": 1e-10,
    "independent_components": 1e-10,
    "spectra": 1e-10,
    "files": 1e-10,
}


def _info(n=4):
    return mne.create_info(n, 100.0, "eeg")


def _data(x):
    return x[:20_000].reshape(4, -1) * 1e-6


def raw(x):
    data = _data(x)
    made = mne.io.RawArray(data, _info())
    return made.get_data(), made[1:3, 2:9][0], made.times, data


def keeps_the_data_of_the_program(x):
    data = _data(x)
    before = data + 1
    made = mne.io.RawArray(data, _info(), copy="both")
    made.apply_function(lambda v: v * 2)
    return before, data, made.get_data()


def shared_without_copy(x):
    data = _data(x) * 1.0
    made = mne.io.RawArray(data, _info(), copy=None)
    made._data[0, 0] = 5
    data[1, 1] = 7
    return data, made.get_data()


def epochs(x):
    data = (x[:60] * 1e-6).reshape(3, 4, 5)
    events = np.column_stack([np.arange(3) * 9, np.zeros(3, int), np.array([1, 2, 1])])
    made = mne.EpochsArray(data, _info(), events, baseline=None)
    return made.get_data(), made["1"].average().data, made.events, data


def evoked(x):
    data = _data(x)
    made = mne.EvokedArray(data, _info(), tmin=-0.1)
    return made.data, made.get_peak(), (made.copy().apply_baseline((None, 0))).data


def filters(large):
    data = _data(large)
    before = data + 0
    return (
        mne.filter.filter_data(data, 100.0, 1.0, 30.0),
        mne.filter.resample(data, down=2.0),
        mne.filter.notch_filter(data, 100.0, 25.0),
        before,
        data,
    )


def spectra(large):
    power, frequencies = mne.time_frequency.psd_array_welch(
        _data(large), 100.0, n_fft=64
    )
    return power * 1e12, frequencies


def hashes(x):
    data = _data(x)
    return mne.utils.object_hash(data), mne.utils.object_hash({"a": data, "b": [1]})


def projections(x):
    made = mne.io.RawArray(_data(x), _info())
    made.set_eeg_reference("average", projection=False)
    return made.get_data(), mne.pick_types(made.info, eeg=True)


def independent_components(large):
    made = mne.io.RawArray(_data(large) * 10, _info())
    found = mne.preprocessing.ICA(2, random_state=0, max_iter=50)
    found.fit(made)
    return found.get_sources(made).get_data().shape, found.n_components_


def files(x):
    mne.io.RawArray(_data(x), _info()).save("a_raw.fif", overwrite=True, fmt="double")
    return mne.io.read_raw_fif("a_raw.fif").get_data()


def error_channels(x):
    return mne.io.RawArray(_data(x), _info(3))
