"""Schemas as servers take them."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from mesa_memory.llm.schemas import schema_of


class Part(BaseModel):
    title: str
    weight: int = Field(3, ge=1, le=5)


class Whole(BaseModel):
    parts: Annotated[list[Part], Field(min_length=2, max_length=2)]
    mood: float = Field(ge=-1, le=1)
    open: int = Field(ge=0)
    wide: int = Field(ge=0, le=1000)
    kind: Literal["a", "b"] = "a"
    note: str | None = None


class Tree(BaseModel):
    children: list["Tree"]


def test_all_fields_are_required_and_no_others_allowed():
    schema = schema_of(Whole)
    assert schema["required"] == ["parts", "mood", "open", "wide", "kind", "note"]
    assert schema["additionalProperties"] is False
    part = schema["properties"]["parts"]["items"]
    assert part["required"] == ["title", "weight"]
    assert part["additionalProperties"] is False
    assert part["properties"].keys() == {"title", "weight"}


def test_lengths_and_choices_stay():
    fields = schema_of(Whole)["properties"]
    assert (fields["parts"]["minItems"], fields["parts"]["maxItems"]) == (2, 2)
    assert fields["kind"]["enum"] == ["a", "b"]
    assert {"type": "null"} in fields["note"]["anyOf"]


def test_a_range_of_few_numbers_is_written_out():
    fields = schema_of(Whole)["properties"]
    weight = fields["parts"]["items"]["properties"]["weight"]
    assert weight == {"type": "integer", "enum": [1, 2, 3, 4, 5]}
    tenths = fields["mood"]["enum"]
    assert (len(tenths), tenths[0], tenths[10], tenths[-1]) == (21, -1.0, 0.0, 1.0)
    assert fields["open"] == {"type": "integer", "minimum": 0}
    assert fields["wide"] == {"type": "integer", "minimum": 0, "maximum": 1000}


def test_what_holds_itself_is_referred_to():
    schema = schema_of(Tree)
    children = schema["$defs"]["Tree"]["properties"]["children"]
    assert children["items"] == {"$ref": "#/$defs/Tree"}
    assert schema["$defs"]["Tree"]["additionalProperties"] is False
