import { useSignal } from "@preact/signals";
import { Button } from "./button.tsx";

interface CopyProps {
  value: string;
  /** The name of the button: "Copy the link". */
  children: string;
  kind?: "primary" | "quiet";
}

/** Copies a text. Without the right to write the clipboard, a person copies the shown text. */
export function CopyButton({ value, children, kind }: CopyProps) {
  const isCopied = useSignal(false);
  const copy = async () => {
    isCopied.value = await navigator.clipboard.writeText(value).then(() => true, () => false);
  };
  return (
    <Button {...kind && { kind }} onClick={() => void copy()}>
      {isCopied.value ? "Copied" : children}
    </Button>
  );
}
