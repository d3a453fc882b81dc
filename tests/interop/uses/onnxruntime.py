"""onnxruntime: inference of ONNX models."""

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper


def _session(weights):
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 2])],
        [numpy_helper.from_array(weights, "w")],
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8
    )
    onnx.checker.check_model(model)
    return onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )


def run(x):
    data = x.astype(np.float32).reshape(-1, 4)
    return _session(data[:2].T.copy()).run(None, {"x": data})


def values(x):
    value = onnxruntime.OrtValue.ortvalue_from_numpy(x.astype(np.float32))
    return (
        value.numpy().copy(),
        value.shape(),
        numpy_helper.to_array(numpy_helper.from_array(x)),
    )


def shared_binding(x):
    session = _session(np.ones((4, 2), np.float32))
    data, out = (
        x.astype(np.float32).reshape(-1, 4),
        np.zeros((x.size // 4, 2), np.float32),
    )
    before = out + 1
    binding = session.io_binding()
    binding.bind_cpu_input("x", data)
    binding.bind_ortvalue_output("y", onnxruntime.OrtValue.ortvalue_from_numpy(out))
    session.run_with_iobinding(binding)
    return before, binding.copy_outputs_to_cpu()[0]


def error_type(x):
    _session(np.ones((4, 2), np.float32)).run(None, {"x": x.reshape(-1, 4)})
