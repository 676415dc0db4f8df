@testable import Simulator

extension RequestHead {
  static let token = String(repeating: "ab", count: 32)

  /// A valid head with `changes`; nil removes a field.
  init(changing changes: KeyValuePairs<String, String?> = [:]) {
    self.init()
    let usual: KeyValuePairs = [
      ":method": "POST", ":path": "/3/device/\(RequestHead.token)", "apns-topic": "com.example.demo",
    ]
    for (name, value) in usual where !changes.contains(where: { $0.key == name }) { append(name, value) }
    for case (let name, let value?) in changes { append(name, value) }
  }

  private mutating func append(_ name: String, _ value: String) {
    Array(name.utf8).withUnsafeBytes { name in
      Array(value.utf8).withUnsafeBytes { value in append(name, value) }
    }
  }
}
