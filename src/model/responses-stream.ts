/** Folds the events of the Responses API into a reply. Pure: neither the network nor the event stream is known here. */

import { err, ok } from "#src/base/result.ts";
import { type Assembler, type AssemblerOptions, type ChunkNews, NO_NEWS } from "./assemble.ts";
import { asList, asRecord, asText, type JsonRecord } from "./json-values.ts";
import type { Reply } from "./model.ts";
import { asLabel, createVoice, type Part, restOf, settleParts } from "./reply-parts.ts";
import { RESPONSES_PARTS } from "./responses-body.ts";
import { mergeUsage, UNKNOWN_USAGE } from "./usage.ts";

/** An output item while its events arrive. Pieces are joined once, at the end. */
interface Item {
  readonly index: number | null;
  id: string | null;
  /** As the last event that held the whole item had it. */
  whole: JsonRecord;
  readonly text: string[];
  readonly refusal: string[];
  readonly arguments: string[];
  /** `output_item.done` or the final response confirmed it. */
  done: boolean;
}

/** Events that only say that the work goes on; whatever else begins with `response.` is progress. */
const HEARTBEATS = new Set(["response.in_progress", "response.queued"]);

export function createResponsesAssembler({
  modelId,
  ...options
}: AssemblerOptions & { readonly modelId: string }): Assembler {
  const items: Item[] = [];
  const voice = createVoice();
  let final: JsonRecord | null = null;
  let usage = UNKNOWN_USAGE;

  const takeWhole = (item: Item, whole: JsonRecord): ChunkNews => {
    item.whole = whole;
    item.done = true;
    // A server that sends no deltas says everything here.
    if (item.text.length > 0 || item.refusal.length > 0) return PROGRESS;
    const { text, refusal } = contentOf(whole);
    if (text + refusal === "") return PROGRESS;
    if (text !== "") item.text.push(text);
    if (refusal !== "") item.refusal.push(refusal);
    return { ...PROGRESS, text: voice(item, text + refusal) };
  };

  const finish = (response: JsonRecord): ChunkNews => {
    final = response;
    usage = mergeUsage(usage, response);
    const texts = asList(response.output).map((raw, index) => {
      const whole = asRecord(raw);
      if (whole === null) return "";
      const known = itemOfOutput(items, whole, index);
      if (known?.done === true) return "";
      return takeWhole(known ?? openItem(items, { index, id: asLabel(whole.id) }), whole).text;
    });
    return { ...PROGRESS, text: texts.join("") };
  };

  const addDelta = (event: JsonRecord, delta: string): ChunkNews => {
    const type = String(event.type);
    const item =
      findItem(items, event) ?? openItem(items, { index: asIndex(event), id: asLabel(event.item_id) });
    if (type === "response.output_text.delta" || type === "response.refusal.delta") {
      (type === "response.refusal.delta" ? item.refusal : item.text).push(delta);
      return { ...PROGRESS, text: voice(item, delta) };
    }
    if (type === "response.function_call_arguments.delta") item.arguments.push(delta);
    const isReasoning = /^response\.reasoning(_summary)?(_text)?\.delta$/.test(type);
    return { ...PROGRESS, reasoning: isReasoning ? delta : "" };
  };

  const addItem = (event: JsonRecord, whole: JsonRecord, done: boolean): ChunkNews => {
    const id = asLabel(whole.id);
    const found = findItem(items, { ...event, item_id: id });
    const continues = found !== undefined && (isSame(found, id) || (done ? !found.done : isBare(found)));
    const item = continues ? found : openItem(items, { index: asIndex(event), id });
    if (done) return takeWhole(item, whole);
    item.whole = whole;
    return PROGRESS;
  };

  return {
    add: (raw) => {
      const event = asRecord(raw);
      if (event === null) return NO_NEWS;
      if (event.object === "response") return addResponse(event, finish);
      const type = asText(event.type) ?? "";
      const response = asRecord(event.response);
      if (type === "error" || event.error) return { ...NO_NEWS, error: event.error ?? event };
      if (!type.startsWith("response.") || HEARTBEATS.has(type)) return NO_NEWS;
      if (/^response\.(completed|incomplete|failed|cancelled)$/.test(type) && response !== null)
        return addResponse(response, finish, type.slice("response.".length));
      const whole = asRecord(event.item);
      if (whole !== null && type === "response.output_item.added") return addItem(event, whole, false);
      if (whole !== null && type === "response.output_item.done") return addItem(event, whole, true);
      if (typeof event.delta === "string") return addDelta(event, event.delta);
      if (type === "response.function_call_arguments.done") takeArguments(findItem(items, event), event);
      return PROGRESS;
    },
    get finished() {
      return final !== null;
    },
    get over() {
      return final !== null;
    },
    end: () => {
      if (final === null) return err("the stream closed before the reply was finished");
      const settled = settleParts(items.flatMap(partsOf), { ...options, field: RESPONSES_PARTS, modelId });
      const declined = items.some((item) => item.refusal.length > 0);
      return ok({ ...settled, finish: declined ? "refused" : readFinish(final), usage });
    },
  };
}

const PROGRESS: ChunkNews = { ...NO_NEWS, progress: true };

/** A final response, at the end of a stream or as the whole answer. */
function addResponse(
  response: JsonRecord,
  finish: (response: JsonRecord) => ChunkNews,
  ending = asText(response.status) ?? "completed",
): ChunkNews {
  const status = asText(response.status) ?? ending;
  if (status === "failed" || ending === "failed" || status === "cancelled" || response.error) {
    return {
      ...NO_NEWS,
      error: response.error ?? { message: `the response was ${status}, without a reason` },
    };
  }
  return finish(response);
}

/** Whether calls are run is decided by their presence; only cut-off and refusal matter. */
function readFinish(response: JsonRecord): Reply["finish"] {
  const reason = asRecord(response.incomplete_details)?.reason;
  if (reason === "content_filter") return "refused";
  return response.status === "incomplete" || asText(reason) !== null ? "truncated" : "complete";
}

function asIndex(event: JsonRecord): number | null {
  return typeof event.output_index === "number" ? event.output_index : null;
}

function openItem(items: Item[], { index, id }: Pick<Item, "index" | "id">): Item {
  const item: Item = { index, id, whole: {}, text: [], refusal: [], arguments: [], done: false };
  items.push(item);
  return item;
}

/** By id, else by position, else the item last opened: some servers name another id in each event, some the same position. */
function findItem(items: readonly Item[], event: JsonRecord): Item | undefined {
  const [index, id] = [asIndex(event), asLabel(event.item_id)];
  const byId = id === null ? undefined : items.findLast((item) => item.id === id);
  if (byId !== undefined) return byId;
  if (index !== null) return items.findLast((item) => item.index === index);
  return event.item === undefined && id === null ? items.at(-1) : undefined;
}

function isSame(item: Item, id: string | null): boolean {
  return id !== null && item.id === id;
}

/** Opened by a delta that came before its item. */
function isBare(item: Item): boolean {
  return item.whole.type === undefined;
}

/** The item that stands at this place of the final output: by id, by position, or by order where no event named a position. */
function itemOfOutput(items: readonly Item[], whole: JsonRecord, index: number): Item | undefined {
  const id = asLabel(whole.id);
  const byId = id === null ? undefined : items.find((item) => item.id === id);
  const sameKind = (item: Item) => item.whole.type === undefined || item.whole.type === whole.type;
  const byOrder = items[index]?.index === null ? items[index] : undefined;
  const byPlace = items.find((item) => item.index === index) ?? byOrder;
  return byId ?? (byPlace !== undefined && sameKind(byPlace) ? byPlace : undefined);
}

function takeArguments(item: Item | undefined, event: JsonRecord): void {
  const text = argumentsText(event.arguments);
  if (item !== undefined && text !== null) item.arguments.splice(0, item.arguments.length, text);
}

/** Some servers send the arguments as an object instead of its text. */
function argumentsText(value: unknown): string | null {
  return asRecord(value) === null ? asText(value) : JSON.stringify(value);
}

function contentOf(whole: JsonRecord): { readonly text: string; readonly refusal: string } {
  if (whole.type !== "message") return { text: "", refusal: "" };
  if (typeof whole.content === "string") return { text: whole.content, refusal: "" };
  const contents = asList(whole.content).map(asRecord);
  const joined = (name: string) => contents.map((content) => asText(content?.[name]) ?? "").join("");
  return { text: joined("text"), refusal: joined("refusal") };
}

function partsOf({ whole, ...item }: Item): readonly Part[] {
  const text = item.text.join("") + item.refusal.join("");
  if (whole.type === "function_call" || (whole.type === undefined && item.arguments.length > 0)) {
    const known = ["type", "call_id", "name", "arguments"];
    return [
      {
        kind: "call",
        id: asLabel(whole.call_id) ?? asLabel(whole.id),
        name: asText(whole.name) ?? "",
        arguments: (item.done ? argumentsText(whole.arguments) : null) ?? item.arguments.join(""),
        rest: callRest(restOf(whole, known)),
      },
    ];
  }
  if (whole.type === "message" || (whole.type === undefined && text !== "")) {
    if (text === "") return [];
    return [{ kind: "text", text, rest: callRest(restOf(whole, ["type", "role", "content"])) }];
  }
  // Half a reasoning item can't be sent back.
  return item.done && whole.type !== undefined ? [{ kind: "raw", item: whole }] : [];
}

/** The state of an item is that of the moment; what is sent back is always complete. */
function callRest(rest: JsonRecord): JsonRecord {
  return rest.status === undefined ? rest : { ...rest, status: "completed" };
}
