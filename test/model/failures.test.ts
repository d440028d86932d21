import assert from "node:assert/strict";
import { test } from "node:test";
import { troubleFromProvider } from "#src/model/failures.ts";
import type { ModelFailure } from "#src/model/model.ts";

interface Case {
  readonly name: string;
  readonly status: number | null;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly want: ModelFailure["code"];
  readonly again: boolean;
}

const error = (message: string, fields: object = {}) => ({ error: { message, ...fields } });

const OVERFLOWS: readonly (readonly [string, number | null, unknown])[] = [
  [
    "B01: a code whose message matches nothing",
    400,
    error("Prompt has 1 unit too much", { code: "context_length_exceeded" }),
  ],
  [
    "B01: the report's message without its code",
    400,
    error("Prompt has 49231 tokens, but the configured context size is 49152 tokens"),
  ],
  [
    "OpenAI",
    400,
    error(
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
    ),
  ],
  [
    "llama.cpp",
    400,
    error("the request exceeds the available context size. try increasing it", {
      type: "exceed_context_size_error",
    }),
  ],
  ["llama.cpp, older", 500, error("the request exceeds the available context size")],
  [
    "vLLM",
    400,
    {
      object: "error",
      message: "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens",
    },
  ],
  ["Ollama", 400, error("the input length exceeds the context length")],
  [
    "Mistral",
    400,
    {
      object: "error",
      message:
        "Prompt contains 33000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    },
  ],
  [
    "LM Studio",
    400,
    error(
      "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens",
    ),
  ],
  [
    "Anthropic",
    400,
    error("prompt is too long: 210000 tokens > 200000 maximum", { type: "invalid_request_error" }),
  ],
  [
    "Google",
    400,
    error("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
  ],
  ["xAI", 400, error("This model's maximum prompt length is 131072 but the request contains 537812 tokens.")],
  ["Groq", 400, error("Please reduce the length of the messages or completion.")],
  [
    "a request above the limit per minute",
    429,
    error("Request too large for gpt-5: Limit 30000, Requested 40000", { code: "rate_limit_exceeded" }),
  ],
  [
    "B01: Text Generation Inference",
    422,
    {
      error:
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 100 `max_new_tokens`",
      error_type: "validation",
    },
  ],
  ["B01: Cohere", 400, { message: "too many tokens: size limit exceeded by 11326 tokens." }],
  [
    "B01: a message longer than the API takes",
    400,
    error("Invalid 'messages[1].content': string too long.", { code: "string_above_max_length" }),
  ],
  ["body too large", 413, "<html><h1>413 Request Entity Too Large</h1></html>"],
  ["inside a stream", null, error("maximum context length is 4096 tokens", { code: 400 })],
];

const CASES: readonly Case[] = [
  ...OVERFLOWS.map(
    ([name, status, body]): Case => ({ name, status, body, want: "context_overflow", again: false }),
  ),
  {
    name: "wrong key",
    status: 401,
    body: error("Incorrect API key provided", { code: "invalid_api_key" }),
    want: "unauthorized",
    again: false,
  },
  {
    name: "Google's wrong key",
    status: 400,
    body: error("API key not valid. Please pass a valid API key."),
    want: "unauthorized",
    again: false,
  },
  {
    name: "no access to the model",
    status: 403,
    body: error("Project does not have access to model"),
    want: "unauthorized",
    again: false,
  },
  {
    name: "B06: insufficient_quota",
    status: 429,
    body: error("You exceeded your current quota", { code: "insufficient_quota" }),
    want: "quota_exhausted",
    again: false,
  },
  {
    name: "B06: quota by its type only",
    status: 429,
    body: error("no", { type: "insufficient_quota" }),
    want: "quota_exhausted",
    again: false,
  },
  {
    name: "B06: a wait of an hour",
    status: 429,
    body: error("slow down"),
    headers: { "retry-after": "3600" },
    want: "quota_exhausted",
    again: false,
  },
  {
    name: "B06: billing wording",
    status: 429,
    body: error("You exceeded your current quota, please check your plan and billing details."),
    want: "quota_exhausted",
    again: false,
  },
  {
    name: "B06: no balance",
    status: 402,
    body: error("Insufficient Balance"),
    want: "quota_exhausted",
    again: false,
  },
  {
    name: "B06: key limit",
    status: 403,
    body: error("Key limit exceeded (monthly limit)"),
    want: "quota_exhausted",
    again: false,
  },
  {
    name: "Google's limit per minute, worded like a quota",
    status: 429,
    body: error(
      "You exceeded your current quota, please check your plan and billing details. Please retry in 12.3s.",
    ),
    want: "rate_limited",
    again: true,
  },
  {
    name: "throttled",
    status: 429,
    body: error("Rate limit reached", { code: "rate_limit_exceeded" }),
    want: "rate_limited",
    again: true,
  },
  {
    name: "throttled inside a stream",
    status: null,
    body: error("slow down", { code: 429 }),
    want: "rate_limited",
    again: true,
  },
  {
    name: "B09: invalid request",
    status: 400,
    body: error("nope", { type: "invalid_request_error" }),
    want: "bad_request",
    again: false,
  },
  {
    name: "unknown model",
    status: 404,
    body: error("The model `x` does not exist"),
    want: "bad_request",
    again: false,
  },
  {
    name: "wrong address",
    status: 405,
    body: "<html><style>a{}</style><body>Not  Allowed</body></html>",
    want: "bad_request",
    again: false,
  },
  {
    name: "unprocessable",
    status: 422,
    body: { detail: [{ type: "missing", loc: ["body", "x"] }] },
    want: "bad_request",
    again: false,
  },
  { name: "request time-out", status: 408, body: "", want: "server_error", again: true },
  { name: "conflict", status: 409, body: "", want: "server_error", again: true },
  { name: "internal error", status: 500, body: error("oops"), want: "server_error", again: true },
  { name: "gateway page", status: 502, body: "<html>Bad gateway</html>", want: "server_error", again: true },
  {
    name: "overloaded",
    status: 529,
    body: error("Overloaded", { type: "overloaded_error" }),
    want: "server_error",
    again: true,
  },
  {
    name: "down for an hour",
    status: 503,
    body: "",
    headers: { "retry-after": "3600" },
    want: "server_error",
    again: false,
  },
  {
    name: "a server that forbids it",
    status: 500,
    body: "",
    headers: { "x-should-retry": "false" },
    want: "server_error",
    again: false,
  },
  {
    name: "A13: code null",
    status: null,
    body: error("provider unavailable", { code: null }),
    want: "server_error",
    again: true,
  },
  {
    name: "A13: upstream status as code",
    status: null,
    body: error("provider unavailable", { code: 502 }),
    want: "server_error",
    again: true,
  },
  { name: "A13: only a text", status: null, body: "upstream died", want: "server_error", again: true },
  {
    name: "A13: upstream refused",
    status: null,
    body: error("bad tool", { code: "400" }),
    want: "bad_request",
    again: false,
  },
];

for (const { name, status, body, headers, want, again } of CASES) {
  test(`told apart: ${name}`, () => {
    const found = troubleFromProvider({ status, body, headers: new Headers(headers) }, 0);
    assert.deepEqual([found.failure.code, found.retryable], [want, again], found.failure.message);
  });
}

test("the message holds the provider's own words, without mark-up, and is bounded", () => {
  const say = (status: number | null, body: unknown) =>
    troubleFromProvider({ status, body, headers: null }, 0).failure.message;
  assert.match(say(500, error("the hamster fell asleep")), /answered 500: the hamster fell asleep/);
  assert.match(say(502, "<html><style>a{}</style><h1>Bad</h1>\n<p>gateway</p></html>"), /: Bad gateway$/);
  assert.match(
    say(null, error("Provider returned error", { metadata: { raw: "out of memory" } })),
    /out of memory/,
  );
  assert.match(say(400, { detail: "no such thing" }), /no such thing/);
  assert.match(say(500, ""), /no explanation/);
  assert.ok(say(500, "x".repeat(100_000)).length < 1_200);
});
