#!/bin/sh
# A session with `hindsight-memory serve`: remember, recall, correct, forget. Needs curl alone.
set -eu
service=${HINDSIGHT_URL:-http://localhost:8888}

call() { # call VERB ARGUMENTS: prints the result
    curl --silent --fail-with-body --write-out '\n' \
        --header "Authorization: Bearer ${HINDSIGHT_SERVICE_TOKEN:-}" \
        --header "Content-Type: application/json" \
        --header "Idempotency-Key: ${operation:-}" \
        --data "$2" "$service/v1/engine/$1"
}

# The same id twice: what was sent again, since an answer was lost, is done once.
operation=example-1
call retain '{"bank_id": "shell", "content": "Alice joined Northwind in March 2021.", "timestamp": "2024-05-07T13:56:00Z", "document_id": "cv"}'
call retain '{"bank_id": "shell", "content": "Alice joined Northwind in March 2021.", "timestamp": "2024-05-07T13:56:00Z", "document_id": "cv"}'
operation=

call recall '{"bank_id": "shell", "query": "Where did Alice work in spring 2021?", "max_tokens": 512}'
call entities.list '{"bank_id": "shell"}'
call forget '{"bank_id": "shell", "document_id": "cv", "dry_run": true}'
call banks.get '{"bank_id": "nobody"}' || echo "an error has a type and a message"
