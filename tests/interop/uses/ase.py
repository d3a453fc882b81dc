"""ase: atoms and their energies."""

import ase
import ase.build
import ase.geometry
import ase.io
import ase.neighborlist
import numpy as np
from ase.calculators.lj import LennardJones
from ase.optimize import BFGS

TOLERANCES = {"energies": 1e-10, "optimized": 1e-6}


def _atoms(x):
    return ase.Atoms(
        "Ar8",
        x[:24].reshape(8, 3) * 2.0 + np.arange(8)[:, None] * 2,
        cell=np.eye(3) * 20,
        pbc=True,
    )


def positions(x):
    atoms = _atoms(x)
    atoms.positions[0] += x[:3]
    atoms.set_positions(atoms.get_positions() + 1)
    atoms.translate(x[:3] * 2)
    atoms.rotate(30, "z")
    return (
        atoms.positions,
        atoms.get_center_of_mass(),
        atoms.get_all_distances(mic=True),
    )


def shared_arrays(x):
    atoms = _atoms(x)
    view = atoms.positions
    before = view + 1
    view[0] = 5
    charges = x[:8] * 2
    atoms.set_array("q", charges)
    charges[0] = 9
    return before, atoms.get_positions(), atoms.get_array("q"), atoms.arrays["q"][:2]


def energies(x):
    atoms = _atoms(x)
    atoms.calc = LennardJones()
    return atoms.get_potential_energy(), atoms.get_forces(), atoms.get_stress()


def optimized(x):
    atoms = ase.Atoms("Ar2", [x[:3] * 0, x[:3] * 0 + np.array([1.3, 0, 0])])
    atoms.calc = LennardJones()
    BFGS(atoms, logfile=None).run(fmax=1e-6, steps=30)
    return np.round(atoms.get_distance(0, 1), 6)


def files(x):
    ase.io.write("a.xyz", _atoms(x))
    ase.io.write("a.traj", [_atoms(x), _atoms(x * 0.5)])
    return ase.io.read("a.xyz").positions, [
        a.positions for a in ase.io.read("a.traj", ":")
    ]


def cells(x):
    cell = np.eye(3) * 5 + x[:9].reshape(3, 3)
    atoms = ase.build.bulk("Cu", cubic=True)
    atoms.set_cell(cell * 1.0, scale_atoms=True)
    return (
        atoms.cell.array,
        atoms.cell.cellpar(),
        atoms.get_scaled_positions(),
        ase.build.make_supercell(atoms, np.diag([2, 1, 1])).positions,
    )


def neighbours(x):
    atoms = _atoms(x)
    i, _, d = ase.neighborlist.neighbor_list("ijd", atoms, 4.0)
    return (
        np.sort(i),
        np.sort(d),
        atoms[np.array([1, 3])].positions,
        atoms[atoms.positions[:, 0] > 3].positions,
    )
