# Answer a Task that waits: sh answer.sh URL TOKEN OUTPUT; OUTPUT is JSON text without quotes inside, such as 42.
curl --fail-with-body --silent --show-error "$1" \
  --aws-sigv4 "aws:amz:$AWS_REGION:lambda" --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" \
  --header "x-amz-security-token: $AWS_SESSION_TOKEN" --header "content-type: application/json" \
  --data "{\"taskToken\": \"$2\", \"output\": \"$3\"}"
