"""Column types that mean the same on every database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, Integer, String, Text
from sqlalchemy.dialects.mysql import LONGBLOB, LONGTEXT, VARBINARY
from sqlalchemy.types import TypeDecorator

if TYPE_CHECKING:
    from sqlalchemy.engine import Dialect
    from sqlalchemy.types import TypeEngine

#: Epoch milliseconds, and row numbers.
Millis = BigInteger()
RowId = BigInteger().with_variant(Integer(), "sqlite")
#: Text without a practical limit (MySQL's TEXT ends at 64 KiB).
LongText = Text().with_variant(LONGTEXT(), "mysql", "mariadb")


class Key(TypeDecorator[str]):
    """Text that is compared byte by byte: case-sensitive, ordered by code point.

    MySQL's default collations fold case and its index limit counts four bytes a character,
    so keys are stored there as UTF-8 bytes.

    Args:
        length: the most bytes a key may have.
    """

    impl = String
    cache_ok = True

    def __init__(self, length: int) -> None:
        """Remember the length, in bytes."""
        super().__init__(length)
        self.length = length

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Choose the column type of the dialect."""
        if dialect.name in {"mysql", "mariadb"}:
            return dialect.type_descriptor(VARBINARY(self.length))
        collation = "C" if dialect.name == "postgresql" else None
        return dialect.type_descriptor(String(self.length, collation=collation))

    def process_bind_param(self, value: str | None, dialect: Dialect) -> Any:
        """Encode for dialects that store bytes."""
        return _encoded(value, dialect)

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:  # noqa: ARG002 - str or bytes
        """Decode what was stored as bytes."""
        return _decoded(value)


class ExactText(TypeDecorator[str]):
    """Text without a practical limit that is compared byte by byte, as `Key` is."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Choose the column type of the dialect."""
        if dialect.name in {"mysql", "mariadb"}:
            return dialect.type_descriptor(LONGBLOB())
        collation = "C" if dialect.name == "postgresql" else None
        return dialect.type_descriptor(Text(collation=collation))

    def process_bind_param(self, value: str | None, dialect: Dialect) -> Any:
        """Encode for dialects that store bytes."""
        return _encoded(value, dialect)

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:  # noqa: ARG002 - str or bytes
        """Decode what was stored as bytes."""
        return _decoded(value)


def _encoded(value: str | None, dialect: Dialect) -> Any:
    if value is not None and dialect.name in {"mysql", "mariadb"}:
        return value.encode()
    return value


def _decoded(value: Any) -> str | None:
    return value.decode() if isinstance(value, bytes) else value
