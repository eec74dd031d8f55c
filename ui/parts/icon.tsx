const SHAPES = {
  shield: "M8 1.75 13.25 3.5v4c0 3.2-2.1 5.6-5.25 6.75C4.85 13.1 2.75 10.7 2.75 7.5v-4L8 1.75Z",
  list: "M5.5 4h8M5.5 8h8M5.5 12h8M2.5 4h.01M2.5 8h.01M2.5 12h.01",
  layers: "M8 2 14 5.25 8 8.5 2 5.25 8 2ZM2.5 8.25 8 11.25l5.5-3M2.5 11 8 14l5.5-3",
  pencil: "M10.75 2.75l2.5 2.5-7.5 7.5-3.25.75.75-3.25 7.5-7.5ZM9.25 4.25l2.5 2.5",
  trash: "M2.75 4.25h10.5M6 4V2.5h4V4M4.25 4.25l.5 9.25h6.5l.5-9.25M6.75 7v4M9.25 7v4",
  move: "M2.5 8h10M9.25 4.75 12.75 8l-3.5 3.25",
  eye:
    "M1.75 8S4 3.75 8 3.75 14.25 8 14.25 8 12 12.25 8 12.25 1.75 8 1.75 8ZM8 6.25a1.75 1.75 0 1 1 0 3.5 1.75 1.75 0 0 1 0-3.5",
  terminal: "M3 4.25 6.25 7.5 3 10.75M7.75 11.5h5.5",
  rollback: "M3 6.25h6.25a3.5 3.5 0 1 1 0 7H6M5.75 3 2.5 6.25 5.75 9.5",
  replay: "M13.25 8A5.25 5.25 0 1 1 11.6 4.2M13.25 1.75v3h-3",
  plug: "M5.5 2v3M10.5 2v3M3.75 5h8.5v2.5a4.25 4.25 0 0 1-8.5 0V5ZM8 11.75V14",
  check: "M3 8.5 6.25 11.75 13 4.75",
  x: "M4 4l8 8M12 4l-8 8",
  ban: "M8 2.25a5.75 5.75 0 1 1 0 11.5 5.75 5.75 0 0 1 0-11.5M4 4l8 8",
  clock: "M8 2.25a5.75 5.75 0 1 1 0 11.5 5.75 5.75 0 0 1 0-11.5M8 4.75V8l2.25 1.5",
  alert: "M8 2.5 14.25 13.25H1.75L8 2.5ZM8 6.5v3.25M8 11.5h.01",
  octagon: "M5.5 2h5L14 5.5v5L10.5 14h-5L2 10.5v-5L5.5 2ZM8 5v3.5M8 10.75h.01",
  info: "M8 2.25a5.75 5.75 0 1 1 0 11.5 5.75 5.75 0 0 1 0-11.5M8 7.25v3.5M8 5.25h.01",
  search: "M7 2.75a4.25 4.25 0 1 1 0 8.5 4.25 4.25 0 0 1 0-8.5M10.25 10.25l3.25 3.25",
  sun:
    "M8 5.25a2.75 2.75 0 1 1 0 5.5 2.75 2.75 0 0 1 0-5.5M8 1.5v1.25M8 13.25v1.25M1.5 8h1.25M13.25 8h1.25M3.4 3.4l.9.9M11.7 11.7l.9.9M12.6 3.4l-.9.9M4.3 11.7l-.9.9",
  moon: "M13.25 9.5A5.75 5.75 0 0 1 6.5 2.75a5.75 5.75 0 1 0 6.75 6.75Z",
  screen: "M2 3h12v8H2V3ZM5.5 13.5h5M8 11v2.5",
  chevron: "M4.5 6.5 8 10l3.5-3.5",
  back: "M9.5 3.5 5 8l4.5 4.5",
  next: "M6.5 3.5 11 8l-4.5 4.5",
  help:
    "M8 2.25a5.75 5.75 0 1 1 0 11.5 5.75 5.75 0 0 1 0-11.5M6.25 6.5a1.75 1.75 0 1 1 2.6 1.55c-.55.3-.85.65-.85 1.2M8 11.25h.01",
  dot: "M8 6a2 2 0 1 1 0 4 2 2 0 0 1 0-4",
} as const;

export type IconName = keyof typeof SHAPES;

/** An icon. Text next to it says the same, so screen readers skip it. */
export function Icon({ name, class: className }: { name: IconName; class?: string }) {
  return (
    <svg
      class={`icon ${className ?? ""}`}
      viewBox="0 0 16 16"
      width="16"
      height="16"
      fill="none"
      stroke="currentColor"
      stroke-width="1.5"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={SHAPES[name]} />
    </svg>
  );
}
