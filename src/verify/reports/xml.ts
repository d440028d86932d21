/** XML of strangers as plain data, or nothing. */

import { XMLParser, XMLValidator } from "fast-xml-parser";

/** Attributes get a leading `@`; `repeated` names elements that are lists even when there is one. Null: malformed, truncated or refused. */
export function parseXml(
  text: string,
  repeated: ReadonlySet<string>,
): Readonly<Record<string, unknown>> | null {
  if (XMLValidator.validate(text) !== true) return null;
  const parser = new XMLParser({
    ignoreAttributes: false,
    attributeNamePrefix: "@",
    parseTagValue: false,
    parseAttributeValue: false,
    htmlEntities: true,
    isArray: (name) => repeated.has(name),
  });
  try {
    return record(parser.parse(text));
  } catch {
    // Entity bombs and reserved names are refused by the parser with an exception.
    return null;
  }
}

export function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

export function lists(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Empty when there is no such attribute. */
export function attribute(element: unknown, name: string): string {
  const value = record(element)[`@${name}`];
  return value === undefined ? "" : String(value);
}

/** The text of an element with or without attributes. */
export function textOf(element: unknown): string {
  if (typeof element === "string" || typeof element === "number") return String(element);
  const text = record(element)["#text"];
  return text === undefined ? "" : String(text);
}
