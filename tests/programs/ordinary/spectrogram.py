"""A sound is synthesised, stored, read, and shown as a spectrogram."""

import io
import wave

import numpy as np

rate, seconds = 44_100, 6
t = np.arange(rate * seconds) / rate
rng = np.random.default_rng(3)

sound = np.zeros_like(t)
for number, key in enumerate([60, 64, 67, 72, 67, 64]):
    tone = 440 * 2 ** ((key - 69) / 12)
    part = slice(number * rate, (number + 1) * rate)
    envelope = np.exp(-3 * (t[part] - number))
    for harmonic in range(1, 6):
        sound[part] += (
            envelope * np.sin(2 * np.pi * harmonic * tone * t[part]) / harmonic
        )
sound += 0.01 * rng.standard_normal(t.size)
pcm = np.int16(sound / np.abs(sound).max() * 32_000)

file = io.BytesIO()
with wave.open(file, "wb") as out:
    out.setnchannels(1)
    out.setsampwidth(2)
    out.setframerate(rate)
    out.writeframes(pcm.tobytes())
file.seek(0)
with wave.open(file, "rb") as source:
    samples = np.frombuffer(source.readframes(source.getnframes()), dtype=np.int16)

size, hop = 2048, 512
window = np.hanning(size)
starts = np.arange(0, samples.size - size, hop)
frames = np.stack([samples[s : s + size] * window for s in starts])
power = np.abs(np.fft.rfft(frames, axis=1)) ** 2
level = 10 * np.log10(power + 1e-10)
frequencies = np.fft.rfftfreq(size, 1 / rate)
loudest = frequencies[power[:, :400].argmax(axis=1)]
centroid = (power * frequencies).sum(axis=1) / power.sum(axis=1)
print("frames", level.shape, "loudest Hz", loudest[::86].round(1))
print("centroid Hz", centroid[::86].round(3))
print("mean level", level.mean(axis=0)[[10, 50, 200, 800]].round(6))
smooth = np.convolve(level.max(axis=1), np.ones(5) / 5, mode="same")
print("range dB", round(float(np.ptp(smooth)), 6))
for row in level[20::160, :128:4]:
    print("".join(" .:-=+*#%@"[int(np.clip(v / 16, 0, 9))] for v in row))
