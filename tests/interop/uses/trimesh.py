"""trimesh: triangle meshes."""

import numpy as np
import trimesh


def meshes(small):
    mesh = trimesh.Trimesh(
        np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, small[1] + 1]]),
        np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]),
    )
    return mesh.area, mesh.volume, mesh.face_normals, mesh.bounds, mesh.is_watertight


def transforms(small):
    box = trimesh.creation.box(extents=small[1:4])
    box.apply_transform(
        trimesh.transformations.rotation_matrix(small[2], np.array([0, 0, 1.0]))
    )
    box.apply_translation(small[:3])
    return np.array(box.vertices), box.centroid, box.contains(small[:3][None])


def points(x):
    cloud = trimesh.PointCloud(x.reshape(-1, 5)[:, :3])
    return (
        np.array(cloud.vertices),
        cloud.bounds,
        trimesh.points.plane_fit(x.reshape(-1, 5)[:50, :3])[0],
        trimesh.triangles.area(x.reshape(-1, 5)[:30, :3].reshape(-1, 3, 3)),
    )


def files(small):
    box = trimesh.creation.box(extents=small[1:4])
    return np.array(
        trimesh.load(
            trimesh.util.wrap_as_stream(box.export(file_type="stl")), file_type="stl"
        ).vertices
    )
