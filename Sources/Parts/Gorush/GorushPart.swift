import EventLoop
package import Program
package import Sidecar

/// The API of gorush, with the setting `MARTLET_GORUSH`: docs/http/gorush-api.md.
package enum GorushPart: Part {
  package static let settings = [
    Setting(
      "MARTLET_GORUSH", in: .sidecar, as: .choice, default: "off",
      """
      `off` (default); `key`: the [gorush API](http/gorush-api.md) for API keys with the scope `jobs`; `open`: \
      for everyone who reaches the port
      """,
      "gorush's POST /api/push: off, key (with an API key) or open.")
  ]

  package static func add(to sidecar: inout SidecarConfiguration, _ reader: inout EnvironmentReader) {
    let access = reader.choice(settings[0]) as GorushAccess
    guard access != .off else { return }
    if access == .open { sidecar.openDoors.append(.init("MARTLET_GORUSH", "push to any token")) }
    sidecar.apis.append { GorushAPI(context: $0, isOpen: access == .open) }
  }
}

/// Who may use the API: nobody, those with an API key of the scope `jobs`, everyone.
enum GorushAccess: String, CaseIterable { case off, key, open }
