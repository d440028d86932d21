/** A value or a named failure: the shape in which ports report what went wrong. */

export type Result<T, E> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: E };

export function ok<T>(value: T): { readonly ok: true; readonly value: T } {
  return { ok: true, value };
}

export function err<E>(error: E): { readonly ok: false; readonly error: E } {
  return { ok: false, error };
}

/** Marks a switch as exhaustive: the compiler refuses the call while a case is missing. */
export function assertNever(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`);
}

/** The sentence of an unknown thrown value; never its stack. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
