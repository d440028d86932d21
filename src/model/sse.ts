/** Turns the bytes of a server-sent-event stream into its data, whatever the line ends, splits and keep-alive comments. */

import { createParser } from "eventsource-parser";

export interface SseData {
  /** The event's name; null when the stream gave none. */
  readonly event: string | null;
  readonly data: string;
}

export interface SseDecoder {
  /** Events that these bytes completed. Comments, empty data and wrapped comments are no events. */
  push(bytes: Uint8Array): readonly SseData[];
  /** What the end of the stream completes: servers leave out the last blank line, and some the last line end. */
  end(): readonly SseData[];
}

export function createSseDecoder(): SseDecoder {
  // One decoder for the whole stream: a character split over two reads must not become U+FFFD (FAULTS A30).
  const text = new TextDecoder("utf-8");
  const lines = createLineEndNormaliser();
  let events: SseData[] = [];
  const parser = createParser({
    onEvent: ({ event, data }) => {
      if (isKeepAlive(data)) return;
      events.push({ event: event ?? null, data });
    },
  });
  const feed = (piece: string): readonly SseData[] => {
    events = [];
    if (piece !== "") parser.feed(piece);
    return events;
  };
  return {
    push: (bytes) => feed(lines(text.decode(bytes, { stream: true }))),
    end: () => feed(`${lines(text.decode())}\n\n`),
  };
}

/** Proxies wrap a comment as data: `data: : PROCESSING` (FAULTS A16). JSON can't start with a colon, so nothing is lost. */
function isKeepAlive(data: string): boolean {
  if (data.startsWith("{")) return false;
  const trimmed = data.trimStart();
  return trimmed === "" || trimmed.startsWith(":");
}

/**
 * CRLF and bare CR to LF, with CR and LF in two reads counting as one end (FAULTS A29).
 * The parser knows CR too, but holds back an event that ends in a bare CR until the next one arrives.
 */
function createLineEndNormaliser(): (piece: string) => string {
  let endedInCarriageReturn = false;
  return (piece) => {
    if (piece === "") return "";
    const rest = endedInCarriageReturn && piece.startsWith("\n") ? piece.slice(1) : piece;
    endedInCarriageReturn = piece.endsWith("\r");
    return rest.includes("\r") ? rest.replace(/\r\n?/g, "\n") : rest;
  };
}
