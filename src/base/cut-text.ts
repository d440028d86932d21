/** Cutting text to a length without ever splitting a character that takes two UTF-16 units. */

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** The longest start of `text` of at most `length` units that does not end inside a surrogate pair. */
export function headOf(text: string, length: number): string {
  if (text.length <= length) return text;
  if (length <= 0) return "";
  const end = isHighSurrogate(text.charCodeAt(length - 1)) ? length - 1 : length;
  return text.slice(0, end);
}

/** The longest end of `text` of at most `length` units that does not begin inside a surrogate pair. */
export function tailOf(text: string, length: number): string {
  if (text.length <= length) return text;
  const from = text.length - length;
  return text.slice(isLowSurrogate(text.charCodeAt(from)) ? from + 1 : from);
}
