"""The directives as methods of a schedule: what each takes, with its options. The functions behind them are in
:mod:`loopwright.sched.scheduling.directives`, whose docstrings show each loop nest before and after.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from loopwright.sched.errors import ScheduleError
from loopwright.sched.scheduling.directives import Directive
from loopwright.sched.scheduling.knobs import Derived, Knob

if TYPE_CHECKING:
    from loopwright.sched.scheduling.schedule import Schedule

Number = int | Knob | Derived
Text = str | Knob
Order = str | Knob | Sequence[Any]


class DirectiveMethods:
    """What :class:`~loopwright.sched.scheduling.schedule.Schedule` inherits; each method returns a new schedule.

    Any of them raises :class:`~loopwright.sched.errors.ScheduleError` where the directive is illegal.
    """

    __slots__ = ()

    def add(self, directive: Directive) -> Schedule:
        """The schedule with one more directive."""
        raise NotImplementedError

    def _add(self, kind: str, **args: Any) -> Schedule:
        return self.add(Directive.of(kind, args))

    def split(self, loop: Text, names: Sequence[Text], factor: Number, tail: Text = "auto") -> Schedule:
        """Run ``loop`` as an outer loop over tiles and an inner loop over ``factor`` iterations.

        Args:
            loop: ``"C.i"``.
            names: of the outer and the inner loop: ``("io", "ii")``.
            factor: length of the inner loop, at least 1; larger than the loop means one tile.
            tail: what the last tile does where the factor does not divide. ``"guard"``: a condition in the loop;
                ``"peel"``: a loop of its own; ``"pad"``: the loop is rounded up and its data padded;
                ``"shift_inward"``: it is moved inward, and computes some elements again; ``"auto"``: no condition in
                the steady state. See docs/tails.md.
        """
        return self._add("split", loop=loop, names=names, factor=factor, tail=tail)

    def tile(
        self,
        stage: Text,
        axes: Mapping[str, Sequence[Any]] | None = None,
        /,
        tail: Text = "auto",
        **tiles: Sequence[Any],
    ) -> Schedule:
        """Split several loops; the loops over tiles come outside, the loops in a tile inside.

        ``tile("by", y=("yo", "yi", 32), x=("xo", "xi", 64))``. For axes named like an option, a dict:
        ``tile("by", {"tail": ("to", "ti", 4)})``.
        """
        if not isinstance(axes, (Mapping, type(None))):
            raise ScheduleError(
                f"tile {stage}: {axes!r} is no dict of axes; write tile({stage!r}, i=('io', 'ii', 8))"
            )
        named = {**(axes or {}), **tiles}
        items = []
        for axis, parts in named.items():
            if not isinstance(parts, (tuple, list)):
                raise ScheduleError(
                    f"tile {stage}: {axis}= takes (outer, inner, factor), such as ('io', 'ii', 8), not {parts!r}"
                )
            items.append((axis, *parts))
        return self._add("tile", stage=stage, tiles=items, tail=tail)

    def fuse(self, outer: Text, inner: Text, name: Text) -> Schedule:
        """Run a loop and the loop right inside it as one loop ``name``."""
        return self._add("fuse", outer=outer, inner=inner, name=name)

    def reorder(self, stage: Text, order: Order) -> Schedule:
        """Put loops in another order, outermost first: ``reorder("C", "io jo k ii ji")``.

        A partial list changes places among the loops it names; the others stay where they are.
        """
        return self._add("reorder", stage=stage, order=order)

    def vectorize(self, loop: Text, width: Number | None = None, when: bool | Knob = True) -> Schedule:
        """Run ``loop`` in vector lanes; with ``width``, split it first, into ``C.j`` and ``C.j.v``."""
        return self._add("vectorize", loop=loop, width=width, when=when)

    def parallel(self, loop: Text, grain: Number | None = None, when: bool | Knob = True) -> Schedule:
        """Share ``loop`` out over the target's threads; with ``grain``, so many iterations together, as ``C.i.g``."""
        return self._add("parallel", loop=loop, grain=grain, when=when)

    def unroll(self, loop: Text, factor: Number | None = None, when: bool | Knob = True) -> Schedule:
        """Write the body of ``loop`` out for each iteration; with ``factor``, for so many at a time, as ``C.i.u``."""
        return self._add("unroll", loop=loop, factor=factor, when=when)

    def bind(self, loop: Text, axis: Text, when: bool | Knob = True) -> Schedule:
        """Give each iteration of ``loop`` to a block or a thread of a GPU: ``bind("C.i", "blockIdx.x")``.

        Args:
            loop: a spatial loop outside the reduction loops of its stage.
            axis: ``"blockIdx.x"``, ``"threadIdx.x"``, likewise ``.y`` and ``.z``, or ``"vthread"``. See docs/gpu.md.
        """
        return self._add("bind", loop=loop, axis=axis, when=when)

    def compute_at(self, stage: Text, at: Text) -> Schedule:
        """Compute ``stage`` inside loop ``at`` of a stage that reads it, over the region needed there."""
        return self._add("compute_at", stage=stage, at=at)

    def reverse_compute_at(self, stage: Text, at: Text) -> Schedule:
        """Compute the elementwise ``stage`` inside loop ``at`` of the stage it reads, as soon as elements are complete."""
        return self._add("reverse_compute_at", stage=stage, at=at)

    def store_at(self, stage: Text, at: Text, fold: bool | Knob = True) -> Schedule:
        """Keep what ``stage`` has computed in a buffer in loop ``at``, outside the loop it is computed in.

        The iterations between compute only what is new in each (a sliding window), and the buffer holds only what is
        still to be read (a rolling buffer).

        Args:
            stage: placed by compute_at.
            at: a loop outside that one, or the loop in which the stage that reads it is computed.
            fold: False stores all that is computed in the loop, not only a window of it.
        """
        return self._add("store_at", stage=stage, at=at, fold=fold)

    def store_root(self, stage: Text, fold: bool | Knob = True) -> Schedule:
        """As :meth:`store_at`, outside all loops: nothing of ``stage`` is computed twice."""
        return self._add("store_root", stage=stage, fold=fold)

    def double_buffer(self, stage: Text) -> Schedule:
        """Give ``stage`` two buffers, which the iterations of the loop it is computed at fill in turn."""
        return self._add("double_buffer", stage=stage)

    def pipeline(self, loop: Text, stages: Number = 2) -> Schedule:
        """Compute the stages at the head of ``loop`` ahead of the rest of its body.

        Args:
            loop: a loop at which stages are computed: copies made by cache_read, or others.
            stages: they are computed ``stages - 1`` iterations ahead, and have so many buffers.
        """
        return self._add("pipeline", loop=loop, stages=stages)

    def prefetch(self, tensor: Text, at: Text, distance: Number = 1) -> Schedule:
        """Bring into the cache what the iteration of loop ``at`` that is ``distance`` ahead will read of ``tensor``.

        Args:
            tensor: an input, or a stage computed before the loop.
            at: a loop in which it is read.
            distance: in iterations, at least 1.
        """
        return self._add("prefetch", tensor=tensor, at=at, distance=distance)

    def stream(self, stage: Text, when: bool | Knob = True) -> Schedule:
        """Write the elements of an output past the caches, where they need not be fetched first and push nothing out."""
        return self._add("stream", stage=stage, when=when)

    def specialize(self, condition: Text, then: Callable[[Schedule], Schedule]) -> Schedule:
        """Make a version of the kernel for calls in which ``condition`` holds; the schedule goes on for the others.

        Args:
            condition: of elements of inputs, by number, and of sizes: ``"alpha[0] == 0"``, ``"(n >= 16) & (n % 8 == 0)"``.
            then: what follows the directives written so far in that version: ``lambda s: s.vectorize("C.i", 16)``.
        """
        if not isinstance(condition, (str, Knob)):
            raise ScheduleError(
                f"specialize: a condition is a text such as 'alpha[0] == 0', not {condition!r}"
            )
        so_far: Any = self
        special = then(so_far)
        directives, count = getattr(special, "directives", ()), len(so_far.directives)
        if type(special) is not type(self) or directives[:count] != so_far.directives:
            raise ScheduleError(
                f"specialize {condition!r}: what follows in the special case is a function that adds directives to the "
                "schedule it gets,\nsuch as lambda s: s.vectorize('C.j', 8)"
            )
        return self._add("specialize", condition=condition, then=directives[count:])

    def compute_inline(self, stage: Text) -> Schedule:
        """Write the formula of ``stage`` where it is read; it is not stored."""
        return self._add("compute_inline", stage=stage)

    def compute_root(self, stage: Text) -> Schedule:
        """Compute ``stage`` whole, before what reads it (as without a directive)."""
        return self._add("compute_root", stage=stage)

    def cache_read(
        self,
        tensor: Text,
        scope: Text = "global",
        at: Text | None = None,
        name: Text | None = None,
        consumers: Sequence[str] | None = None,
        dtype: Text | None = None,
    ) -> Schedule:
        """Copy an input or a stage into a buffer that its consumers read instead.

        Args:
            tensor: what to copy.
            scope: the buffer's memory: ``"global"``, ``"local"``, ``"shared"``.
            at: a loop at which the needed region is copied; without it, all of the tensor is copied first.
            name: the copy's name; ``A_shared`` by default.
            consumers: the stages that read the copy; all that read the tensor by default.
            dtype: a wider type for the copy, which holds every value: ``"int16"`` of ``int8``, ``"float32"`` of ``bfloat16``.
        """
        return self._add(
            "cache_read", tensor=tensor, scope=scope, at=at, name=name, consumers=consumers, dtype=dtype
        )

    def cache_write(
        self, stage: Text, scope: Text = "local", at: Text | None = None, name: Text | None = None
    ) -> Schedule:
        """Compute ``stage`` into a buffer of its own; a copy stage ``name`` moves complete blocks to where they belong.

        Args:
            stage: keeps its name and loops.
            scope: the buffer's memory.
            at: the loop at whose end the copy stands; by default the innermost outside every reduction loop.
            name: the copy's name; ``C_local`` by default.
        """
        return self._add("cache_write", stage=stage, scope=scope, at=at, name=name)

    def clone(self, stage: Text, consumers: Sequence[str], name: Text | None = None) -> Schedule:
        """Compute ``stage`` a second time, as ``name`` (by default ``f_clone``), for ``consumers`` of it only."""
        return self._add("clone", stage=stage, consumers=consumers, name=name)

    def transform_layout(self, stage: Text, order: Order, name: Text | None = None) -> Schedule:
        """Store ``stage`` in the order of its loops: ``transform_layout("B_packed", "jo k ji")``.

        What the caller passes stays as it is: of an output, a stage ``name`` (``C_unpacked``) writes the array; of an input,
        ``transform_layout("B", "j//32 k j%32")`` makes a packed copy ``name`` (``B_packed``).
        """
        return self._add("transform_layout", stage=stage, order=order, name=name)

    def prepack(self, stage: Text) -> Schedule:
        """Compute ``stage``, which depends on weights alone, in ``kernel.prepack`` in place of in every call."""
        return self._add("prepack", stage=stage)

    def set_scope(self, stage: Text, scope: Text) -> Schedule:
        """Keep the values of ``stage`` in the memory ``scope``: ``"global"``, ``"local"`` or ``"shared"``."""
        return self._add("set_scope", stage=stage, scope=scope)

    def storage_align(self, stage: Text, axis: Text, factor: Number, offset: Number = 0) -> Schedule:
        """Let the step from one index of ``axis`` to the next in the buffer of ``stage`` be ``offset`` modulo ``factor``."""
        return self._add("storage_align", stage=stage, axis=axis, factor=factor, offset=offset)

    def pad(self, stage: Text, axis: Text, factor: Number) -> Schedule:
        """Make ``axis`` of ``stage`` longer, to a multiple of ``factor``; beyond its old end are zeros, or no terms."""
        return self._add("pad", stage=stage, axis=axis, factor=factor)

    def rfactor(self, loop: Text, name: Text | None = None) -> Schedule:
        """Take a reduction loop out into a stage ``name`` of partial results, and reduce these; ``C_rf`` by default."""
        return self._add("rfactor", loop=loop, name=name)

    def decompose_reduction(self, stage: Text, at: Text | None = None, name: Text | None = None) -> Schedule:
        """Let the reduction of ``stage`` start from what a new stage ``name`` (``C_init``) stores, at root or at loop ``at``."""
        return self._add("decompose_reduction", stage=stage, at=at, name=name)

    def two_pass(self, stage: Text, name: Text | None = None) -> Schedule:
        """Let an argmax or argmin find the best value first, as stage ``name`` (``at_best``), then the first index of it."""
        return self._add("two_pass", stage=stage, name=name)

    def offset(self, stage: Text, tensor: Text, name: Text | None = None) -> Schedule:
        """Store the bytes of a copy ``tensor`` with another sign, 128 apart; ``name`` (``C_offset``) corrects the sum."""
        return self._add("offset", stage=stage, tensor=tensor, name=name)

    def tensorize(self, loop: Text, intrinsic: Text) -> Schedule:
        """Let an intrinsic, by its name, do what stands from ``loop`` inwards: ``tensorize("C.ji", "avx2.dot8x2.i16")``.

        ``lw.intrinsics()`` has the names; ``lw.intrinsic`` registers one of your own.
        """
        return self._add("tensorize", loop=loop, intrinsic=intrinsic)
