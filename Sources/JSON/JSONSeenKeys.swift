/// The keys of one object that were seen so far: a scan while they are few, a set when a hostile object has thousands.
public struct JSONSeenKeys: Sendable {
  private static let scanLimit = 8

  private var few: [String] = []
  private var many: Set<String> = []

  public init() {}

  /// False when the key was seen before.
  public mutating func insert(_ key: String) -> Bool {
    if !many.isEmpty { return many.insert(key).inserted }
    guard !few.contains(key) else { return false }
    few.append(key)
    if few.count > JSONSeenKeys.scanLimit { many = Set(few) }
    return true
  }
}
