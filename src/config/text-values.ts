/** Readers of single environment values: text in, typed value out, or a message that completes "NAME …". */

import { z } from "zod";

/** A whole number in [min, max], in digits only. */
export function whole(min: number, max: number) {
  const message = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,15}$/, message)
    .transform(Number)
    .pipe(z.number().min(min, message).max(max, message));
}

/** An amount of money in US dollars, more than 0. */
export const dollars = z
  .string()
  .regex(/^\d+(?:\.\d+)?$/, "must be an amount in US dollars such as 5 or 2.50")
  .transform(Number)
  .pipe(z.number().positive("must be more than 0").max(100_000, "must be at most 100000"));

const YES = ["1", "true", "yes", "on"];
const NO = ["0", "false", "no", "off"];

export const flag = z
  .string()
  .transform((text) => text.toLowerCase())
  .pipe(z.enum([...YES, ...NO], { error: "must be true or false" }))
  .transform((text) => YES.includes(text));

/** Members separated by commas or white space; `none` is the empty list. */
export const list = z
  .string()
  .transform((text) =>
    text.trim() === "none" ? [] : text.split(/[\s,]+/).filter((member) => member !== ""),
  );

/** One of the words, in lower case. */
export function oneOf<const Words extends readonly [string, ...string[]]>(words: Words) {
  return z.enum(words, { error: `must be one of ${words.join(", ")}` });
}

/** An http or https address without credentials, query and fragment; the slash at its end is dropped. */
export const address = z.string().transform((text, context) => {
  const url = URL.canParse(text) ? new URL(text) : null;
  const message =
    url === null || !/^https?:$/.test(url.protocol)
      ? "must be an address that starts with http:// or https://"
      : url.username !== "" || url.password !== ""
        ? "must not carry a user name or password"
        : url.search !== "" || url.hash !== ""
          ? "must not carry a query or fragment"
          : null;
  if (message === null) return text.replace(/\/+$/, "");
  context.addIssue({ code: "custom", message });
  return z.NEVER;
});

const HOST_NAME = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,62})(?:\.[a-z0-9](?:[a-z0-9-]{0,62}))*$/i;

export function isHostName(text: string): boolean {
  return HOST_NAME.test(text);
}

/** `host` or `host:port`, without a scheme; an IPv6 address stands in brackets. */
export const hostAndPort = z.string().refine(
  (text) => {
    const match = /^(\[[0-9a-f:.]+\]|[^:/\s]+)(?::(\d{1,5}))?$/i.exec(text);
    if (match === null) return false;
    const [, host = "", port] = match;
    return (
      (host.startsWith("[") || isHostName(host)) && Number(port ?? 1) >= 1 && Number(port ?? 1) <= 65_535
    );
  },
  {
    error:
      "must be a host name with an optional port, such as ghe.example.com or 127.0.0.1:8080, without https://",
  },
);

/** Names of hosts, with a port where only that port (and a private address behind it) is meant. */
export const hostNames = list.refine(
  (names) =>
    names.every((name) => {
      const [, host = "", port = "1"] = /^(.+?)(?::(\d{1,5}))?$/.exec(name) ?? [];
      return isHostName(host) && Number(port) >= 1 && Number(port) <= 65_535;
    }),
  {
    error:
      "must list host names such as registry.npmjs.org, or host:port, separated by commas, without https:// or wildcard",
  },
);

export const logins = list
  .transform((names) => names.map((name) => name.replace(/^@/, "").toLowerCase()))
  .refine((names) => names.every((name) => /^[a-z0-9](?:[a-z0-9_-]{0,99})$/.test(name)), {
    error: "must list GitHub logins, separated by commas",
  });

/** True for host names (with or without port) that never leave this machine. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/:\d+$/, "").toLowerCase();
  return name === "localhost" || name === "[::1]" || name === "::1" || /^127(?:\.\d{1,3}){3}$/.test(name);
}
