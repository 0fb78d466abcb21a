"""Comparison of a definition with earlier ones at synth, as annotations of the workflow.

Earlier definitions are given (`earlier`), or read from the deployed workflow if the context asks for that. Each change
is what ``unum diff`` says: an error if the deployment guard would refuse it, a warning if it breaks running executions,
else an information. What cannot be read is said, and fails nothing.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from aws_cdk import Annotations
from constructs import Construct

from unum_compiler.analysis.changes import Change, Effect, changes, with_values_of
from unum_compiler.definition import Definition
from unum_compiler.options import FunctionOptions
from unum_constructs.assembly.checked_options import WorkflowOptions
from unum_constructs.assembly.deployed_definition import Deployed, NotKnown, read_deployed
from unum_constructs.cdk.argument_checks import check_types
from unum_runtime.model.ir import Workflow

CONTEXT = "unum:compareDeployed"
"""Context value: true to compare with the deployed definition."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Comparison of a workflow's definition with earlier ones.

    Attributes:
        construct: the workflow, which gets the annotations.
        new: its compiled definition.
        parts: names of all parts of its deployment.
        is_guarded: True if a deployment is refused that removes what executions need.
    """

    construct: Construct
    new: Workflow
    parts: Collection[str]
    is_guarded: bool

    def with_given(self, earlier: Sequence[Definition], options: Mapping[str, FunctionOptions]) -> None:
        """Compare with definitions whose executions may run.

        Raises:
            ConstructError: one is no definition.
            DefinitionError: one does not compile.
        """
        for number, each in enumerate(earlier):
            check_types(self.construct, Definition, {f"upgrades.earlier[{number}]": each})
            old = _with_settings_of(self.new, each.bind({}).compile(self.new.name, None, options))
            found = self._changes(old)
            removed = {change.part for change in found if change.part is not None}
            self._annotate(f"earlier[{number}]", found, removed, "executions of that definition may need it")

    def with_deployed(self) -> None:
        """Compare with the deployed definition, if the context asks for it."""
        # The command line passes a text, cdk.json any value.
        if self.construct.node.try_get_context(CONTEXT) not in (True, "true"):
            return
        try:
            self._compare(read_deployed(self.construct, self.new.name))
        except NotKnown as reason:
            text = f"Not compared with the deployed definition: {reason}"
            Annotations.of(self.construct).add_info_v2("unum:NotCompared", text)

    def _compare(self, deployed: Deployed) -> None:
        found = self._changes(deployed.definition)
        removed = {change.part for change in found if change.part is not None}
        if not removed:
            self._annotate("deployed", found, removed, "")
            return
        stranded = deployed.stranded_without(removed)
        names = ", ".join(stranded.names) + (", ..." if stranded.executions > len(stranded.names) else "")
        self._annotate("deployed", found, stranded.parts, f"running executions need it ({names})")

    def _changes(self, old: Workflow) -> list[Change]:
        found = changes(old, with_values_of(old, self.new), self.parts)
        return [change for change in found if change.effect is not Effect.UNCHANGED]

    def _annotate(self, compared: str, found: Iterable[Change], refused: Collection[str], reason: str) -> None:
        notes = Annotations.of(self.construct)
        for change in found:
            text = f"{change.effect} {change.subject}: {change.message} (compared with {compared})"
            code = f"unum:{change.effect}[{compared}: {change.subject}]"
            if self.is_guarded and change.part in refused:
                notes.add_error(f"{text}; the deployment would be refused: {reason}; {_REMEDY} [{code}]")
            elif change.effect is Effect.BREAKS:
                notes.add_warning_v2(code, text)
            else:
                notes.add_info_v2(code, text)


def compare(
    workflow: Construct, options: WorkflowOptions, new: Workflow, parts: Collection[str], *, is_guarded: bool
) -> None:
    """Compare `new`, the compiled definition, with the definitions that `options` and the context name.

    Raises:
        ConstructError: one is no definition.
        DefinitionError: one does not compile.
    """
    comparison = Comparison(construct=workflow, new=new, parts=parts, is_guarded=is_guarded)
    comparison.with_given(options.groups.upgrades.earlier, options.options_by_key(workflow))
    comparison.with_deployed()


_REMEDY = (
    "keep it for them by `upgrades=Upgrades(keep=Keep(...))`, or let them fail by "
    '`upgrades=Upgrades(on_removed="fail-executions")`'
)


def _with_settings_of(new: Workflow, old: Workflow) -> Workflow:
    """Return `old` with the settings that the construct's options give to `new`."""
    names = ("hop_budget", "width_budget", "invocation_budget", "collection", "payload_limit", "small_results")
    timeout_s = new.timeout_s if old.timeout_s is None else old.timeout_s
    return replace(old, **{name: getattr(new, name) for name in names}, timeout_s=timeout_s)
