using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [(name = "main", worker = .receiver)],
);

const receiver :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "bundle.mjs")],
  bindings = [(name = "SIGNED", text = embed "signed.json")],
  compatibilityDate = "2026-01-01",
);
