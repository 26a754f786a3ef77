"""Warnings that LlamaIndex and its workflows raise against themselves."""

import pytest

WARNINGS = pytest.mark.filterwarnings(
    # A workflow looks at every attribute of its pydantic model, the deprecated ones too.
    "ignore::pydantic.warnings.PydanticDeprecatedSince20",
    "ignore::pydantic.warnings.PydanticDeprecatedSince211",
    # LlamaIndex's own `Memory` cannot be serialised with a workflow's context.
    "ignore::workflows.context.state_store.UnserializableKeyWarning",
    # ReActAgent asks for what the workflow's context has deprecated.
    "ignore:is_running called from within a step:DeprecationWarning",
)
