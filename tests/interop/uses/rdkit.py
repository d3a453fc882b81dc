"""rdkit: chemistry of molecules."""

import numpy as np
from rdkit import Chem, DataStructs
from rdkit.Chem import AllChem, rdMolAlign, rdMolTransforms
from rdkit.Geometry import Point3D
from rdkit.ML.Cluster import Butina


def _molecule():
    molecule = Chem.AddHs(Chem.MolFromSmiles("CCO"))
    AllChem.EmbedMolecule(molecule, randomSeed=1)
    return molecule


def _fingerprints():
    made = AllChem.GetMorganGenerator(radius=2, fpSize=256)
    return [
        made.GetFingerprint(Chem.MolFromSmiles(s)) for s in ("CCO", "CCN", "c1ccccc1")
    ]


def positions(x):
    conformer = _molecule().GetConformer()
    n = conformer.GetNumAtoms()
    placed = np.asarray(conformer.GetPositions()) * 1.0 + x[: 3 * n].reshape(n, 3)
    conformer.SetPositions(placed)
    return conformer.GetPositions(), placed, conformer.GetAtomPosition(1).x


def points(x):
    conformer = _molecule().GetConformer()
    conformer.SetAtomPosition(0, x[:3] * 2.0)
    conformer.SetAtomPosition(1, Point3D(*(x[3:6] + 1).tolist()))
    return conformer.GetPositions()[:2]


def transformations(x):
    molecule = _molecule()
    turn = np.eye(4) * 1.0
    turn[:3, 3] = x[:3]
    rdMolTransforms.TransformConformer(molecule.GetConformer(), turn)
    return molecule.GetConformer().GetPositions()


def fingerprints_as_arrays():
    rows = []
    for fingerprint in _fingerprints():
        row = np.zeros((1,), np.int8)
        DataStructs.ConvertToNumpyArray(fingerprint, row)
        rows.append(row)
    table = np.array(rows)
    return (
        table,
        rows[0].shape,
        table.sum(axis=1),
        (rows[0] + 1).sum(),
        rows[0] @ rows[1],
    )


def similarities():
    first, *others = _fingerprints()
    found = np.array(DataStructs.BulkTanimotoSimilarity(first, others))
    return found, 1 - found, found > 0.1


def clusters(x):
    distances = np.abs(np.subtract.outer(x[:12], x[:12]))
    lower = distances[np.tril_indices(12, -1)]
    return Butina.ClusterData(lower, 12, 0.2, isDistData=True)


def alignment(x):
    reference, moved = _molecule(), _molecule()
    conformer = moved.GetConformer()
    conformer.SetPositions(np.asarray(conformer.GetPositions()) + x[:3])
    weights = np.ones(reference.GetNumAtoms())
    pairs = [(i, i) for i in range(reference.GetNumAtoms())]
    value = rdMolAlign.AlignMol(moved, reference, atomMap=pairs, weights=weights)
    return np.round(value, 6), moved.GetConformer().GetPositions()


def matrices():
    molecule = _molecule()
    adjacency = np.asarray(Chem.GetAdjacencyMatrix(molecule))
    distances = np.asarray(Chem.Get3DDistanceMatrix(molecule))
    return adjacency, (adjacency @ adjacency).trace(), distances.max(), distances * 2


def error_positions_of_another_shape():
    _molecule().GetConformer().SetPositions(np.ones((2, 3)) * 2)


def error_not_an_array():
    _molecule().GetConformer().SetPositions([1.0])
