"""Where workflows come from: definitions, before and after their functions are known."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from unum_constructs.compiler import compile_workflow
from unum_constructs.compiler.document import copied, parse
from unum_constructs.compiler.options import FunctionOptions
from unum_constructs.compiler.tokens import bound
from unum_runtime.errors import DefinitionError, Problem
from unum_runtime.model.ir import Json, Workflow


@dataclass(frozen=True, slots=True)
class Definition:
    """A workflow as it is written, immutable and not checked yet.

    Attributes:
        text: a state machine in the Amazon States Language, as JSON.
    """

    text: str

    @classmethod
    def from_asl(cls, definition: Mapping[str, Any] | str) -> "Definition":
        """A definition in the Amazon States Language, as Python objects or as JSON text.

        Raises:
            DefinitionError: it is no JSON; what it says is checked by `compile`.
        """
        value = parse(definition) if isinstance(definition, str) else copied(definition)
        return cls._of(value)

    @classmethod
    def from_asl_file(cls, path: str | Path) -> "Definition":
        """The definition in a file of JSON text in UTF-8.

        Raises:
            OSError: the file cannot be read.
            DefinitionError: its content is no JSON; names file, line and column.
        """
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            raise DefinitionError((Problem(str(path), f"expected JSON text in UTF-8: {error}"),)) from error
        return cls._of(parse(text, source=str(path)))

    def bind(self, functions: Mapping[str, str]) -> "Definition":
        """The definition with Tasks that name their functions by key.

        Args:
            functions: key of each function, by its ARN or by the CDK token that stands for the ARN.
        """
        return self._of(bound(self._json(), functions))

    def compile(
        self,
        name: str,
        functions: Collection[str] | None,
        options: Mapping[str, FunctionOptions] = MappingProxyType({}),
    ) -> Workflow:
        """The compiled workflow.

        Args:
            name: of the workflow.
            functions: keys of the workflow's functions, which Tasks may name; None accepts every name.
            options: of functions by key; others have the default.

        Raises:
            DefinitionError: with every problem of the definition, in its order.
        """
        return compile_workflow(self._json(), name=name, functions=functions, options=options)

    @classmethod
    def _of(cls, value: Json) -> "Definition":
        return cls(json.dumps(value, ensure_ascii=False))

    def _json(self) -> Json:
        return json.loads(self.text)
