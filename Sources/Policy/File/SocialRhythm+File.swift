import JSON

extension SocialRhythm {
  private static let maximumMinutes: Int64 = 720
  private static let asSent = "as_sent"

  init(_ value: JSONValue, _ path: String, of policy: DeliveryPolicy, _ reader: inout PolicyReader) {
    self.init()
    let keys = ["suppressBeforeQuietMinutes", "lowClass", "collapseSeconds"]
    guard let object = reader.object(value, path, keys: keys) else { return }
    suppressBeforeQuietMinutes =
      reader.integer(object, "suppressBeforeQuietMinutes", in: 0...SocialRhythm.maximumMinutes) ?? 0
    let shortest = policy.classes.compactMap(\.collapse?.seconds).min() ?? 0
    collapseSeconds = reader.integer(object, "collapseSeconds", in: shortest...PolicyClass.maximumSeconds) ?? 0
    guard let value = object["lowClass"], value.string != SocialRhythm.asSent else { return }
    let low = policy.classes.filter { $0.urgency == .low }.map(\.name)
    lowClass = value.string.flatMap { low.contains($0) ? $0 : nil }
    if lowClass == nil {
      let known = ([SocialRhythm.asSent] + low).joined(separator: ", ")
      reader.report(object.path("lowClass"), value, expected: "one of \(known)")
    }
  }
}
