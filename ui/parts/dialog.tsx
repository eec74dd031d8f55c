import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { useKeys } from "../state/keys.ts";
import { Icon } from "./icon.tsx";

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  class?: string;
}

/** A modal dialog; it disables the shortcuts of the page. */
export function Dialog({ title, onClose, children, class: className }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useKeys([], { modal: true });
  useLayoutEffect(() => {
    const before = document.activeElement;
    dialog.current!.showModal();
    return () => before instanceof HTMLElement && before.focus();
  }, []);
  return (
    <dialog
      ref={dialog}
      class={`dialog ${className ?? ""}`}
      aria-label={title}
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && onClose()}
    >
      <div class="dialog-box">
        <header class="dialog-head">
          <h2>{title}</h2>
          <button type="button" class="icon-button" aria-label="Close" onClick={onClose}>
            <Icon name="x" />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}
