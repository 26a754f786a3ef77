"""Names in Chinese, Japanese and Korean, by what stands after them: 王伟先生, 田中さん, 北京市."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hindsight_integrations.retain.spans import NameSpan

_HONORIFICS = "先生|女士|小姐|老师|老師|教授|医生|醫生|经理|經理|さん|さま|様|くん|ちゃん|씨|님"
_PERSON = re.compile(
    rf"(?:(?<![\u4e00-\u9fff])[\u4e00-\u9fff]{{1,4}}?|[ァ-ヴー]{{2,10}}|[가-힣]{{2,4}}?)"
    rf"(?=\s?(?:{_HONORIFICS}))"
)
_KATAKANA_NAME = re.compile(r"[ァ-ヴー]{2,}(?:・[ァ-ヴー]{2,})+")
_QUOTED_WORK = re.compile(r"《([^《》\n]{1,40})》|『([^『』\n]{1,40})』")


def unspaced_names(text: str) -> Iterator[NameSpan]:
    """Persons with an honorific, foreign full names in katakana, titles of works in brackets."""
    if text.isascii():
        return
    for match in _PERSON.finditer(text):
        yield NameSpan(match.start(), match.end(), match.group(), "person")
    for match in _KATAKANA_NAME.finditer(text):
        yield NameSpan(match.start(), match.end(), match.group(), "person")
    for match in _QUOTED_WORK.finditer(text):
        yield NameSpan(match.start(), match.end(), match.group(1) or match.group(2), "work")
