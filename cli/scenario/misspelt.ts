/** The known name that a misspelt one probably means; null where none is close. */
export function meantName(written: string, known: readonly string[]): string | null {
  const [nearest] = known.map((name) => ({ name, far: distance(plain(written), plain(name)) }))
    .filter(({ name, far }) => far <= (name.length < 6 ? 1 : 2))
    .sort((a, b) => a.far - b.far);
  return nearest?.name ?? null;
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[_\s-]/g, "");
}

/** The number of letters to insert, delete, replace or swap with the next one. */
function distance(one: string, other: string): number {
  if (Math.abs(one.length - other.length) > 2) return Infinity;
  const rows = [Array.from({ length: other.length + 1 }, (_, n) => n)];
  for (let i = 1; i <= one.length; i++) {
    const [above, row] = [rows[i - 1]!, [i]];
    for (let k = 1; k <= other.length; k++) {
      const replaced = above[k - 1]! + (one[i - 1] === other[k - 1] ? 0 : 1);
      const isSwapped = i > 1 && k > 1 && one[i - 1] === other[k - 2] &&
        one[i - 2] === other[k - 1];
      const swapped = isSwapped ? rows[i - 2]![k - 2]! + 1 : Infinity;
      row.push(Math.min(above[k]! + 1, row[k - 1]! + 1, replaced, swapped));
    }
    rows.push(row);
  }
  return rows.at(-1)![other.length]!;
}
