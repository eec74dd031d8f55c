import { count, number } from "../parts/words.ts";
import { useAddress } from "../state/address.ts";
import { pointed, type Scope } from "./scope.ts";
import { clock, offsetHours, shifted, WEEKDAYS, zoneName } from "./hours.ts";

const HOURS = Array.from({ length: 24 }, (_, hour) => hour);

/** When agents acted: the hours of a week. Each hour opens its actions. */
export function Heat({ scope: { summary, decided } }: { scope: Scope }) {
  const ahead = offsetHours();
  const counts = new Map(
    summary.busiest_hours.map(({ count: n, ...at }) => {
      const { weekday, hour } = shifted(at, ahead);
      return [`${weekday} ${hour}`, n];
    }),
  );
  const most = Math.max(1, ...counts.values());
  return (
    <section class="room-part analytics-part" aria-labelledby="analytics-hours">
      <h2 id="analytics-hours">When agents acted</h2>
      <p class="quiet">Actions submitted in each hour of the week, in {zoneName(ahead)}.</p>
      <table class="heat">
        <thead>
          <tr>
            <td />
            {HOURS.map((hour) => (
              <th key={hour} scope="col">
                <span class="visually-hidden">{clock(hour)}</span>
                <span aria-hidden="true">{hour % 6 === 0 ? hour : ""}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {WEEKDAYS.map(({ day, name }) => (
            <tr
              key={day}
              class={pointed.value === day ? "heat-pointed" : undefined}
              onPointerEnter={() => pointed.value = day}
              onPointerLeave={() => pointed.value = null}
            >
              <th scope="row">
                <span aria-hidden="true">{name.slice(0, 3)}</span>
                <span class="visually-hidden">{name}</span>
              </th>
              {HOURS.map((hour) => (
                <Cell
                  key={hour}
                  name={`${name} ${clock(hour)}`}
                  n={counts.get(`${day} ${hour}`) ?? 0}
                  most={most}
                  changes={behind(shifted({ weekday: day, hour }, -ahead), decided)}
                />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <p class="heat-key quiet small" aria-hidden="true">
        none
        {[0, 1, 2, 3, 4].map((level) => <span key={level} class={`heat-${level}`} />)}
        {number(most)}
      </p>
    </section>
  );
}

function behind(
  { weekday, hour }: { weekday: number; hour: number },
  { decided_from: from, decided_to: to }: Scope["decided"],
) {
  return { weekday: String(weekday), hour: String(hour), from, to };
}

interface CellProps {
  name: string;
  n: number;
  most: number;
  changes: Record<string, string | null>;
}

function Cell({ name, n, most, changes }: CellProps) {
  const address = useAddress();
  if (n === 0) return <td class="heat-0" title={`${name}: no action`} />;
  const level = Math.min(4, Math.ceil(4 * n / most));
  return (
    <td class={`heat-${level}`}>
      <a
        href={address.href("/actions", changes)}
        title={`${name}: ${count(n, "action")}`}
        aria-label={`${name}: ${count(n, "action")}`}
      >
        <span class="heat-count">{n > 999 ? "1k+" : n}</span>
      </a>
    </td>
  );
}
