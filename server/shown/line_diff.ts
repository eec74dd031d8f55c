/** Items `[fromA, toA)` of one list are replaced by `[fromB, toB)` of the other. */
export interface Change {
  fromA: number;
  toA: number;
  fromB: number;
  toB: number;
}

/** The changes between two lists. */
export interface Difference {
  changes: Change[];
  /** A part was too long to compare, so it counts as replaced whole. */
  isRough: boolean;
}

/**
 * The most cells of one comparison, one bit each. A comparison of 16,000 different lines with 16,000
 * others fits; the time grows with the cells.
 */
const MOST_CELLS = 2 ** 28;

/**
 * Finds the fewest items to remove and to add. Very long lists are first split at items that occur
 * once in both; a part that is still too long counts as replaced whole. With fewer cells than the
 * default nothing is split, so that a result that is not rough equals that of the default.
 */
export function findChanges(
  a: readonly string[],
  b: readonly string[],
  mostCells = MOST_CELLS,
): Difference {
  const numbers = new Map<string, number>();
  const numberOf = (item: string) => {
    const known = numbers.get(item);
    if (known !== undefined) return known;
    numbers.set(item, numbers.size);
    return numbers.size - 1;
  };
  const left = Int32Array.from(a, numberOf);
  const right = Int32Array.from(b, numberOf);
  const lists: Lists = {
    a: left,
    b: right,
    kept: new Uint8Array(a.length),
    partner: new Int32Array(a.length),
    isRough: false,
    mostCells,
    names: numbers.size,
    seen: new Int32Array(numbers.size),
    turn: 0,
  };
  compare(lists, { fromA: 0, toA: a.length, fromB: 0, toB: b.length });
  return { changes: slideDown(changesOf(lists), left, right), isRough: lists.isRough };
}

interface Lists {
  a: Int32Array;
  b: Int32Array;
  /** 1 where an item of `a` stays, and `partner` is its place in `b`. */
  kept: Uint8Array;
  partner: Int32Array;
  isRough: boolean;
  mostCells: number;
  /** The number of different items. */
  names: number;
  /** The last turn in which an item was seen; a new turn needs no cleared table. */
  seen: Int32Array;
  turn: number;
}

function keep(lists: Lists, atA: number, atB: number): void {
  lists.kept[atA] = 1;
  lists.partner[atA] = atB;
}

function compare(lists: Lists, { fromA, toA, fromB, toB }: Change): void {
  const { a, b } = lists;
  while (fromA < toA && fromB < toB && a[fromA] === b[fromB]) keep(lists, fromA++, fromB++);
  while (fromA < toA && fromB < toB && a[toA - 1] === b[toB - 1]) keep(lists, --toA, --toB);
  if (fromA === toA || fromB === toB) return;
  // An item that the other side lacks is changed in any case.
  const leftA = commonOf(lists, a, [fromA, toA], b, [fromB, toB]);
  const leftB = commonOf(lists, b, [fromB, toB], a, [fromA, toA]);
  if (leftA.length * leftB.length <= lists.mostCells) keepMost(lists, leftA, leftB);
  else if (lists.mostCells < MOST_CELLS || !splitAtAnchors(lists, { fromA, toA, fromB, toB })) {
    lists.isRough = true;
  }
}

type Range = readonly [from: number, to: number];

/** The places of one list whose items occur in the other. */
function commonOf(
  lists: Lists,
  items: Int32Array,
  [from, to]: Range,
  others: Int32Array,
  [otherFrom, otherTo]: Range,
): Int32Array {
  const { seen } = lists;
  const turn = ++lists.turn;
  for (let at = otherFrom; at < otherTo; at++) seen[others[at]!] = turn;
  const places: number[] = [];
  for (let at = from; at < to; at++) if (seen[items[at]!] === turn) places.push(at);
  return Int32Array.from(places);
}

/**
 * Keeps a longest common subsequence. It computes a row of the table for each item of `b`, 32 cells
 * in one operation: a zero bit says that the subsequence grows at this item of `a`.
 */
function keepMost(lists: Lists, placesA: Int32Array, placesB: Int32Array): void {
  const { a, b } = lists;
  const words = Math.ceil(placesA.length / 32);
  const rows = new Int32Array(words * (placesB.length + 1)).fill(-1, 0, words);
  const where = placesOf(a, placesA);
  const few = new Int32Array(words);
  const masks = new Map<number[], Int32Array>();
  for (let row = 1; row <= placesB.length; row++) {
    const found = where.get(b[placesB[row - 1]!]!)!;
    // At most 32 items are so frequent that their masks are kept.
    const isFrequent = found.length > words;
    const matches = isFrequent ? masks.get(found) ?? new Int32Array(words) : few;
    if (!isFrequent || !masks.has(found)) {
      for (const at of found) matches[at >>> 5]! |= 1 << (at & 31);
    }
    if (isFrequent) masks.set(found, matches);
    const before = (row - 1) * words;
    let carry = 0;
    for (let word = 0; word < words; word++) {
      const old = rows[before + word]!;
      const grown = old & matches[word]!;
      const sum = (old >>> 0) + (grown >>> 0) + carry;
      carry = sum > 0xffffffff ? 1 : 0;
      rows[before + words + word] = (sum | 0) | (old & ~grown);
    }
    if (!isFrequent) { for (const at of found) few[at >>> 5] = 0; }
  }
  const isGrown = (row: number, at: number) =>
    (rows[row * words + (at >>> 5)]! & (1 << (at & 31))) === 0;
  for (let at = placesA.length, row = placesB.length; at > 0 && row > 0;) {
    if (!isGrown(row, at - 1)) at--;
    else if (isGrown(row - 1, at - 1)) row--;
    else keep(lists, placesA[--at]!, placesB[--row]!);
  }
}

function placesOf(items: Int32Array, places: Int32Array): Map<number, number[]> {
  const found = new Map<number, number[]>();
  for (const [at, place] of places.entries()) {
    const known = found.get(items[place]!);
    if (known) known.push(at);
    else found.set(items[place]!, [at]);
  }
  return found;
}

/** Keeps the items that occur once in both, in the longest order, and compares what lies between. */
function splitAtAnchors(lists: Lists, { fromA, toA, fromB, toB }: Change): boolean {
  const anchors = longestRise(onceInBoth(lists, { fromA, toA, fromB, toB }));
  if (anchors.length === 0) return false;
  let last: Anchor = { a: fromA - 1, b: fromB - 1 };
  for (const anchor of [...anchors, { a: toA, b: toB }]) {
    if (anchor.a < toA) keep(lists, anchor.a, anchor.b);
    compare(lists, { fromA: last.a + 1, toA: anchor.a, fromB: last.b + 1, toB: anchor.b });
    last = anchor;
  }
  return true;
}

interface Anchor {
  a: number;
  b: number;
}

function onceInBoth({ a, b, names }: Lists, { fromA, toA, fromB, toB }: Change): Anchor[] {
  const counts = [new Int32Array(names), new Int32Array(names)] as const;
  const placeInB = new Int32Array(names);
  for (let at = fromA; at < toA; at++) counts[0][a[at]!]!++;
  for (let at = fromB; at < toB; at++) {
    counts[1][b[at]!]!++;
    placeInB[b[at]!] = at;
  }
  const anchors: Anchor[] = [];
  for (let at = fromA; at < toA; at++) {
    const name = a[at]!;
    if (counts[0][name] === 1 && counts[1][name] === 1) anchors.push({ a: at, b: placeInB[name]! });
  }
  return anchors;
}

/** The longest part of the anchors, ordered by `a`, whose `b` rises. */
function longestRise(anchors: readonly Anchor[]): Anchor[] {
  const ends: number[] = [];
  const before = new Int32Array(anchors.length).fill(-1);
  for (const [at, { b }] of anchors.entries()) {
    let low = 0;
    for (let high = ends.length; low < high;) {
      const middle = (low + high) >>> 1;
      if (anchors[ends[middle]!]!.b < b) low = middle + 1;
      else high = middle;
    }
    before[at] = ends[low - 1] ?? -1;
    ends[low] = at;
  }
  const rise: Anchor[] = [];
  for (let at = ends.at(-1) ?? -1; at >= 0; at = before[at]!) rise.push(anchors[at]!);
  return rise.reverse();
}

function changesOf({ a, b, kept, partner }: Lists): Change[] {
  const changes: Change[] = [];
  let fromA = 0;
  let fromB = 0;
  const close = (toA: number, toB: number) => {
    if (toA > fromA || toB > fromB) changes.push({ fromA, toA, fromB, toB });
  };
  for (let at = 0; at < a.length; at++) {
    if (kept[at] === 0) continue;
    close(at, partner[at]!);
    fromA = at + 1;
    fromB = partner[at]! + 1;
  }
  close(a.length, b.length);
  return changes;
}

/**
 * Moves each group of only added or only removed items as far down as it fits, as git does, so that
 * an added function starts with its first line. Groups that meet become one.
 */
function slideDown(changes: Change[], a: Int32Array, b: Int32Array): Change[] {
  const moved: Change[] = [];
  for (let at = 0; at < changes.length; at++) {
    const change = { ...changes[at]! };
    const next = changes[at + 1];
    const endA = next?.fromA ?? a.length;
    const isAdded = change.fromA === change.toA;
    const [items, from, to] = isAdded ? [b, "fromB", "toB"] as const : [a, "fromA", "toA"] as const;
    const isOneSided = isAdded || change.fromB === change.toB;
    while (isOneSided && change.toA < endA && items[change[from]] === items[change[to]]) {
      change.fromA++;
      change.toA++;
      change.fromB++;
      change.toB++;
    }
    if (next && change.toA === endA) {
      changes[at + 1] = { ...next, fromA: change.fromA, fromB: change.fromB };
    } else moved.push(change);
  }
  return moved;
}
