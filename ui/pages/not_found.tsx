import { Empty } from "../components/empty.tsx";
import { useAddress } from "../router.ts";

/** An address that no page has. */
export function NotFoundPage() {
  const address = useAddress();
  return (
    <main class="page-scroll">
      <h1 class="visually-hidden">Not found</h1>
      <Empty icon="help" title="There is no such page">
        <p>
          <a href={address.href("/approvals")}>Go to the approvals</a>
        </p>
      </Empty>
    </main>
  );
}
