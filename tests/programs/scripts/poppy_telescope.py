"""Compute the picture of a star in a telescope with obscurations (poppy)."""

import poppy

system = poppy.OpticalSystem(npix=512, oversample=2)
system.add_pupil(poppy.CircularAperture(radius=3))
system.add_pupil(poppy.SecondaryObscuration(secondary_radius=1.0, n_supports=4))
system.add_pupil(poppy.ZernikeWFE(radius=3, coefficients=[0, 0, 0, 1e-7, 5e-8]))
system.add_detector(pixelscale=0.01, fov_arcsec=3.0)
image = system.calc_psf(wavelength=[1e-6, 1.5e-6, 2e-6, 2.5e-6])[0].data
print(f"{image.sum():.4f} {image.max():.4e}")
