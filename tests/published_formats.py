"""Samples of ours in the documented formats of LoCoMo's and LongMemEval's files."""

from __future__ import annotations

from typing import Any

SAMPLE: dict[str, Any] = {
    "sample_id": "conv-7",
    "conversation": {
        "speaker_a": "Ingrid",
        "speaker_b": "Tomas",
        "session_1_date_time": "12:05 am on 3 March, 2024",
        "session_1": [
            {"speaker": "Ingrid", "dia_id": "D1:1", "text": "I bought a loom at the flea market."},
            {
                "speaker": "Tomas",
                "dia_id": "D1:2",
                "text": "Look at my canoe!",
                "img_url": ["https://example.org/canoe.jpg"],
                "blip_caption": "a green canoe on a trailer",
            },
            {"speaker": "Tomas", "dia_id": "D1:3", "text": ""},
        ],
        "session_10_date_time": "1:30 pm on 21 May, 2024",
        "session_10": [
            {"speaker": "Ingrid", "dia_id": "D10:1", "text": "The loom needs new heddles."},
        ],
        "session_2_date_time": "12:00 pm on 9 April, 2024",
        "session_2": [
            {"speaker": "Tomas", "dia_id": "D2:1", "text": "We paddled to the weir and back."},
        ],
        "session_11_date_time": "5:00 pm on 1 June, 2024",
    },
    "qa": [
        {
            "question": "What did Ingrid buy?",
            "answer": "a loom",
            "evidence": ["D1:1"],
            "category": 4,
        },
        {
            "question": "Where did Tomas take his canoe?",
            "answer": "to the weir",
            "evidence": ["D1:2; D02:1", "D9:9", "D"],
            "category": 1,
        },
        {"question": "What is left out?", "evidence": ["D9:9"], "category": 2},
        {"question": "Nor is this?", "category": 3},
        {
            "question": "What did Tomas buy?",
            "adversarial_answer": "a loom",
            "evidence": ["D:1:1"],
            "category": 5,
        },
    ],
    "event_summary": {},
}

INSTANCE: dict[str, Any] = {
    "question_id": "gpt_11",
    "question_type": "knowledge-update",
    "question": "How many hens do I keep?",
    "answer": "nine",
    "question_date": "2023/07/02 (Sun) 09:15",
    "haystack_session_ids": ["a_1", "answer_x_1", "answer_x_2"],
    "haystack_dates": [
        "2023/05/20 (Sat) 02:21",
        "2023/05/22 (Mon) 18:00",
        "2023/06/30 (Fri) 07:45",
    ],
    "haystack_sessions": [
        [
            {"role": "user", "content": "How long does rye bread keep?"},
            {
                "role": "assistant",
                "content": "About a week, wrapped in cloth.",
                "has_answer": False,
            },
        ],
        [
            {"role": "user", "content": "I keep six hens. Is that a lot?", "has_answer": True},
            {"role": "assistant", "content": ""},
        ],
        [
            {
                "role": "user",
                "content": "Three more hens came, so I keep nine.",
                "has_answer": True,
            },
            {"role": "assistant", "content": "Give them room to scratch."},
        ],
    ],
    "answer_session_ids": ["answer_x_1", "answer_x_2"],
}
