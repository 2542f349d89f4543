"""What peers.py measures with: PyTorch as the machine of peers_engine.py, the course's kernels, and the peers."""
import contextlib
import ctypes
import importlib
import importlib.metadata
import importlib.util
import subprocess
import time
import types

from peers_engine import COPY, EPS, MOST_ELEMENTS, OPERATIONS, Contender, first_line


def first_line_of(command):
    try:
        lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    except OSError:
        lines = []
    return lines[0].strip() if lines else "unknown"


def nvidia_smi(what):
    return first_line_of(["nvidia-smi", f"--query-gpu={what}", "--format=csv,noheader", "-i", "0"])


class Machine:
    """PyTorch on the first card."""

    device = "cuda"
    FEWEST_FLUSHES, MOST_FLUSHES = 4, 64

    def __init__(self, torch):
        self.torch = torch
        torch.manual_seed(1)
        card = torch.cuda.get_device_properties(0)
        free, _ = torch.cuda.mem_get_info(0)
        self.elements = MOST_ELEMENTS  # two dozen matrices of them: inputs, and the outputs of all contenders
        while self.elements > 1 << 20 and 24 * 4 * self.elements > free:
            self.elements //= 2
        l2_bytes = getattr(card, "L2_cache_size", 64 << 20)
        self.flush_buffer = torch.zeros(l2_bytes, device=self.device)  # l2_bytes floats are 4 · l2_bytes bytes
        self.flushes = self.FEWEST_FLUSHES
        self.start, self.stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        # Mean 1, and a dy with a mean that leans towards x, as in workload.cpp.
        self.x = torch.rand(self.elements, device=self.device) * 4 - 1
        self.dy = torch.rand(self.elements, device=self.device) * 2 - 1.25 + self.x / 2
        self.target = torch.empty_like(self.x)

    def inputs(self, problem):
        torch, rows, cols = self.torch, problem.rows, problem.cols
        self.flushes = self.FEWEST_FLUSHES
        torch.cuda.empty_cache()
        if problem.elements > self.elements:
            raise ValueError(f"{problem} does not fit into this GPU's memory")
        given = types.SimpleNamespace(x=self.x[:problem.elements].view(rows, cols),
                                      dy=self.dy[:problem.elements].view(rows, cols))
        if problem.operation == COPY:
            return given
        given.gamma = torch.rand(cols, device=self.device) + 0.5
        given.beta = torch.rand(cols, device=self.device) - 0.5
        given.mean = torch.empty(rows, device=self.device)
        given.rstd = torch.empty(rows, device=self.device)
        piece = max(1, (1 << 24) // cols)
        for first in range(0, rows, piece):
            x = given.x[first:first + piece].double()
            mean = x.mean(1) if problem.centred else torch.zeros(len(x), dtype=x.dtype, device=self.device)
            given.mean[first:first + piece] = mean
            given.rstd[first:first + piece] = ((x - mean[:, None]).square().mean(1) + EPS).rsqrt()
        return given

    def unwritten(self, *shape):
        return self.torch.full(shape, float("nan"), device=self.device)

    def spoil(self, problem):
        """A peer that allocates its output gets a block of the same size that was freed."""
        blocks = [self.unwritten(problem.rows, problem.cols) for _ in range(3)]
        del blocks
        self.torch.cuda.synchronize()

    def rows(self, tensor, indices):
        return tensor.detach()[self.torch.tensor(indices, device=self.device)].float().tolist()

    def column(self, tensor, index):
        return tensor.detach()[:, index].tolist()

    def values(self, tensor, indices=None):
        flat = tensor.detach().reshape(-1).float()
        return (flat if indices is None else flat[self.torch.tensor(indices, device=self.device)]).tolist()

    def first_nan(self, tensor):
        found = self.torch.isnan(tensor.detach().reshape(-1))
        return int(found.to(self.torch.uint8).argmax()) if bool(found.any()) else None

    def copy(self, problem, inputs):
        source = inputs.x.reshape(-1)
        target = self.target[:problem.elements]
        return lambda: target.copy_(source)

    def seconds(self, call):
        # The device reads for longer than the host needs to queue what follows, so no host time is between the events:
        # if the first event has passed before the last is queued, the device is given more to read. Reading leaves no
        # dirty lines, whose write-back would be timed with the call.
        while True:
            for _ in range(self.flushes):
                self.flush_buffer.sum()
            self.start.record()
            call()
            self.stop.record()
            late = self.start.query()
            self.stop.synchronize()
            if not late or self.flushes == self.MOST_FLUSHES:
                return self.start.elapsed_time(self.stop) * 1e-3, late
            self.flushes *= 2

    def finish(self):
        self.torch.cuda.synchronize()

    def alive(self):
        try:
            return self.torch.ones(2, device=self.device).sum().item() == 2
        except Exception:  # after an illegal access every call fails
            return False

    def sm_clock(self):
        return nvidia_smi("clocks.sm")

    clock = staticmethod(time.monotonic)

    def context(self):
        torch = self.torch
        return {
            "card": torch.cuda.get_device_name(0),
            "driver": nvidia_smi("driver_version"),
            "torch": torch.__version__,
            "elements": self.elements,
            "sm_clock_begin": self.sm_clock(),
            "sm_clock_most": nvidia_smi("clocks.max.sm"),
        }


# --- the course -------------------------------------------------------------------------------------------------------


class Library:
    """libcourse_kernels.so, course_kernels.h. Raises OSError if it cannot be loaded."""

    def __init__(self, path):
        library = ctypes.CDLL(str(path))
        pointer, size, text = ctypes.c_void_p, ctypes.c_int64, ctypes.c_char_p
        for name, result, arguments in (
                ("lnh_toolkit", text, []),
                ("lnh_kernels", ctypes.c_int, []),
                ("lnh_name", text, [ctypes.c_int]),
                ("lnh_operation", text, [ctypes.c_int]),
                ("lnh_workspace_floats", size, [ctypes.c_int, size, size]),
                ("lnh_copy", text, [ctypes.c_int, pointer, pointer, size, pointer]),
                ("lnh_norm", text, [ctypes.c_int, *[pointer] * 6, size, size, ctypes.c_float, pointer]),
                ("lnh_norm_backward", text, [ctypes.c_int, *[pointer] * 9, size, size, pointer])):
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
        self.library = library
        self.toolkit = library.lnh_toolkit().decode()
        self.kernels = [(library.lnh_name(i).decode(), library.lnh_operation(i).decode())
                        for i in range(library.lnh_kernels())]

    def prepare(self, kernel, machine, problem, given):
        """A call of kernel number `kernel`. All memory is there before."""
        library = self.library
        stream = machine.torch.cuda.current_stream().cuda_stream
        rows, cols = problem.rows, problem.cols

        def addresses(*tensors):
            return [tensor.data_ptr() for tensor in tensors]

        if problem.operation == COPY:
            written = {"y": machine.unwritten(rows, cols)}
            launch = library.lnh_copy
            arguments = [kernel, *addresses(given.x, written["y"]), problem.elements, stream]
        elif not problem.backward:
            written = {"y": machine.unwritten(rows, cols), "mean": machine.unwritten(rows),
                       "rstd": machine.unwritten(rows)}
            launch = library.lnh_norm
            arguments = [kernel, *addresses(given.x, given.gamma, given.beta, *written.values()), rows, cols, EPS,
                         stream]
        else:
            floats = library.lnh_workspace_floats(kernel, rows, cols)
            written = {"dx": machine.unwritten(rows, cols), "dgamma": machine.unwritten(cols),
                       "dbeta": machine.unwritten(cols), "workspace": machine.unwritten(floats)}
            launch = library.lnh_norm_backward
            arguments = [kernel, *addresses(given.x, given.gamma, given.mean, given.rstd, given.dy, *written.values()),
                         rows, cols, stream]

        def call():
            error = launch(*arguments)
            if error is not None:
                raise RuntimeError(error.decode())
            return written

        return call


def course(library, machine, kernels="last"):
    """The contenders among the course's kernels.

    kernels: "all"; "last", the copies and the last kernel of each other operation in the list; or names. Raises
    ValueError for a name that is not in the list.
    """
    names = [name for name, _ in library.kernels]
    if kernels == "all":
        chosen = set(names)
    elif kernels == "last":
        last = {}
        for name, operation in library.kernels:
            # Chapter 06's template makes a LayerNorm beside its RMSNorm, to show that it can: not a kernel of its own.
            if operation == COPY or name.split("::")[0] not in OPERATIONS or name.split("::")[0] == operation:
                last[name if operation == COPY else operation] = name
        chosen = set(last.values())
    else:
        chosen = set(kernels.split(","))
        unknown = ", ".join(sorted(chosen - set(names)))
        if unknown:
            raise ValueError(f"The course has no kernel {unknown}. It has {', '.join(names)}.")

    def contender(kernel, name, operation):
        return Contender(name, lambda problem, given: library.prepare(kernel, machine, problem, given),
                         takes=lambda problem: problem.operation == operation, peer=False)

    return [contender(i, name, operation) for i, (name, operation) in enumerate(library.kernels) if name in chosen]


# --- the peers --------------------------------------------------------------------------------------------------------
#
# Each is a class with a method for each operation that it has, which takes (problem, given) and returns a call. Most
# peers allocate what they return; once it is warm, PyTorch's allocator asks the device for nothing.


def outputs(*names):
    """Turns a function's tuple into outputs by name; None as a name leaves one out."""
    return lambda values: {name: value for name, value in zip(names, values) if name is not None and value is not None}


def autograd(torch, forward, problem, given, dy=None):
    """A call of the backward of forward(x, gamma, beta), which is run once before."""
    x, gamma, beta = (tensor.detach().requires_grad_() for tensor in (given.x, given.gamma, given.beta))
    y = forward(x, gamma, beta)
    wanted = (x, gamma, beta) if problem.centred else (x, gamma)
    dy = given.dy if dy is None else dy
    by_name = outputs("dx", "dgamma", "dbeta")
    return lambda: by_name(torch.autograd.grad(y, wanted, dy, retain_graph=True))


class Eager:
    """PyTorch's own kernels, one call each."""

    key, title, module, package = "pytorch", "PyTorch eager", "torch", "torch"

    def __init__(self, torch):
        self.torch = torch

    def layer_norm(self, problem, given):
        by_name, native = outputs("y", "mean", "rstd"), self.torch.ops.aten.native_layer_norm
        return lambda: by_name(native(given.x, [problem.cols], given.gamma, given.beta, EPS))

    def rms_norm(self, problem, given):
        rms_norm = self.torch.nn.functional.rms_norm
        return lambda: {"y": rms_norm(given.x, (problem.cols,), given.gamma, EPS)}

    def layer_norm_backward(self, problem, given):
        by_name, native = outputs("dx", "dgamma", "dbeta"), self.torch.ops.aten.native_layer_norm_backward
        return lambda: by_name(native(given.dy, given.x, [problem.cols], given.mean[:, None], given.rstd[:, None],
                                      given.gamma, given.beta, [True, True, True]))

    def rms_norm_backward(self, problem, given):
        rms_norm = self.torch.nn.functional.rms_norm
        return autograd(self.torch, lambda x, gamma, _: rms_norm(x, (problem.cols,), gamma, EPS), problem, given)


class Compiled:
    """torch.compile of the same functions, for this shape alone; the backward is that of its autograd."""

    key, title, module, package = "torch.compile", "torch.compile", "triton", "triton"  # Triton makes its kernels
    # To compile takes seconds for each shape.
    COLS = (256, 1024, 4096, 8192, 16384, 65536, 131072)

    def __init__(self, torch):
        self.torch = torch
        with contextlib.suppress(ImportError, AttributeError):
            # Else a compiled backward frees what a second call of it needs.
            importlib.import_module("torch._functorch.config").donated_buffer = False

    def compiled(self, problem):
        functional, cols = self.torch.nn.functional, (problem.cols,)
        self.torch._dynamo.reset()  # the number of shapes that it keeps is limited

        def layer_norm(x, gamma, beta):
            return functional.layer_norm(x, cols, gamma, beta, EPS)

        def rms_norm(x, gamma, beta):
            return functional.rms_norm(x, cols, gamma, EPS)

        return self.torch.compile(layer_norm if problem.centred else rms_norm, dynamic=False)

    def forward(self, problem, given):
        norm = self.compiled(problem)
        return lambda: {"y": norm(given.x, given.gamma, given.beta)}

    def backward(self, problem, given):
        return autograd(self.torch, self.compiled(problem), problem, given)

    layer_norm = rms_norm = forward
    layer_norm_backward = rms_norm_backward = backward


class Liger:
    """Liger Kernel: Triton, one block a row."""

    key, title, module, package = "liger", "Liger", "liger_kernel", "liger-kernel"

    def __init__(self, torch):
        self.torch = torch
        self.LayerNorm = importlib.import_module("liger_kernel.ops.layer_norm").LigerLayerNormFunction
        self.RMSNorm = importlib.import_module("liger_kernel.ops.rms_norm").LigerRMSNormFunction

    def layer_norm(self, problem, given):
        return lambda: {"y": self.LayerNorm.apply(given.x, given.gamma, given.beta, EPS)}

    def rms_norm(self, problem, given):
        return lambda: {"y": self.RMSNorm.apply(given.x, given.gamma, EPS)}

    def layer_norm_backward(self, problem, given):
        return autograd(self.torch, lambda x, gamma, beta: self.LayerNorm.apply(x, gamma, beta, EPS), problem, given)

    def rms_norm_backward(self, problem, given):
        # It writes dx over dy: it gets a dy of its own, which is right for the first call, the one that is judged.
        dy = given.dy.clone()
        return autograd(self.torch, lambda x, gamma, _: self.RMSNorm.apply(x, gamma, EPS), problem, given, dy)


class FlashInfer:
    """FlashInfer, made for inference in 16 bits; whether it takes binary32 is its own to say."""

    key, title, module, package = "flashinfer", "FlashInfer", "flashinfer", "flashinfer-python"

    def __init__(self, torch):
        self.torch = torch
        self.norm = importlib.import_module("flashinfer.norm")

    def rms_norm(self, problem, given):
        y = self.torch.full_like(given.x, float("nan"))
        return lambda: {"y": self.norm.rmsnorm(given.x, given.gamma, EPS, out=y)}


class TransformerEngine:
    """NVIDIA's Transformer Engine: the functions beneath its modules."""

    key, title, module, package = ("transformer_engine", "Transformer Engine", "transformer_engine_torch",
                                   "transformer_engine_torch")

    def __init__(self, torch):
        types_of_it = importlib.import_module("transformer_engine.pytorch.constants").TE_DType
        self.functions = importlib.import_module(self.module)
        self.float32 = types_of_it[torch.float32]

    def layer_norm(self, problem, given):
        by_name, norm = outputs("y", "mean", "rstd"), self.functions.layernorm_fwd
        return lambda: by_name(norm(given.x, given.gamma, given.beta, EPS, None, None, self.float32, 0, False))

    def rms_norm(self, problem, given):
        by_name, norm = outputs("y", None, "rstd"), self.functions.rmsnorm_fwd
        return lambda: by_name(norm(given.x, given.gamma, EPS, None, None, self.float32, 0, False))

    def layer_norm_backward(self, problem, given):
        by_name, norm = outputs("dx", "dgamma", "dbeta"), self.functions.layernorm_bwd
        return lambda: by_name(norm(given.dy, given.x, given.mean, given.rstd, given.gamma, 0, False))

    def rms_norm_backward(self, problem, given):
        by_name, norm = outputs("dx", "dgamma"), self.functions.rmsnorm_bwd
        return lambda: by_name(norm(given.dy, given.x, given.rstd, given.gamma, 0, False))


class Quack:
    """Quack: CuTe DSL, a row across the blocks of a cluster."""

    key, title, module, package = "quack", "Quack", "quack", "quack-kernels"

    def __init__(self, torch):
        self.functions = importlib.import_module("quack.rmsnorm")

    def layer_norm(self, problem, given):
        by_name, norm = outputs("y", "rstd", "mean"), self.functions.layernorm_fwd
        return lambda: by_name(norm(given.x, given.gamma, bias=given.beta, eps=EPS, return_rstd=True, return_mean=True))

    def rms_norm(self, problem, given):
        by_name, norm = outputs("y", None, "rstd"), self.functions.rmsnorm_fwd
        return lambda: by_name(norm(given.x, given.gamma, eps=EPS, store_rstd=True))

    def layer_norm_backward(self, problem, given):
        by_name, norm = outputs("dx", "dgamma", "dbeta"), self.functions.layernorm_bwd
        return lambda: by_name(norm(given.x, given.gamma, given.dy, given.rstd, given.mean))

    def rms_norm_backward(self, problem, given):
        by_name, norm = outputs("dx", "dgamma"), self.functions.rmsnorm_bwd
        return lambda: by_name(norm(given.x, given.gamma, given.dy, given.rstd))


PEERS = (Eager, Compiled, Liger, FlashInfer, TransformerEngine, Quack)


def version_of(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def peers(torch, keys=None, all_compiled=False, most_elements=MOST_ELEMENTS):
    """Contenders, the versions of those that are here, and one line for each that is absent.

    keys: those to look for; all without. all_compiled: torch.compile on every point, not on a few of the large ones.
    """
    contenders, versions, absent = [], {}, []

    def contender(peer):
        def takes(problem):
            if isinstance(peer, Compiled) and not all_compiled:
                large = problem.elements > most_elements // 2
                if not large or problem.cols not in Compiled.COLS:
                    return False
            return hasattr(peer, problem.operation)

        return Contender(peer.title, lambda problem, given: getattr(peer, problem.operation)(problem, given), takes)

    for kind in PEERS:
        if keys is not None and kind.key not in keys:
            continue
        try:
            if importlib.util.find_spec(kind.module) is None:
                absent.append(f"{kind.title} (no module {kind.module})")
                continue
            contenders.append(contender(kind(torch)))
            versions[kind.title] = version_of(kind.package)
        except Exception as error:  # whatever an import raises: of a library that is not there, of another version
            absent.append(f"{kind.title} (module {kind.module} does not load: {first_line(error)})")
    return contenders, versions, absent
