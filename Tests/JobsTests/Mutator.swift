import JSON
import TestSupport

/// Changes jobs at random, the same way on every run.
struct Mutator {
  private var random: SeededGenerator

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
  }

  mutating func job() -> [UInt8] {
    var value = parsed(Corpus.valid[below(Corpus.valid.count)])
    for _ in 0..<(1 + below(3)) { value = changed(value) }
    var bytes = value.bytes
    if below(8) == 0, !bytes.isEmpty { bytes[below(bytes.count)] = UInt8(below(256)) }
    if below(16) == 0 { bytes.removeLast(below(bytes.count)) }
    return bytes
  }

  private mutating func changed(_ value: JSONValue) -> JSONValue {
    guard case .object(var members) = value else { return anyValue() }
    switch members.isEmpty ? 0 : below(6) {
    case 0, 1:
      members.append(JSONMember(key: Corpus.keys[below(Corpus.keys.count)], value: anyValue()))
    case 2:
      members.remove(at: below(members.count))
    case 3:
      let index = below(members.count)
      members[index] = JSONMember(key: members[index].key, value: changed(members[index].value))
    case 4:
      let other = parsed(Corpus.valid[below(Corpus.valid.count)]).members ?? []
      if let member = other.isEmpty ? nil : other[below(other.count)], value[member.key] == nil {
        members.append(member)
      }
    default:
      let index = below(members.count)
      members[index] = JSONMember(key: members[index].key, value: anyValue())
    }
    return .object(members)
  }

  private mutating func anyValue() -> JSONValue {
    parsed(Corpus.values[below(Corpus.values.count)])
  }

  private func parsed(_ text: String) -> JSONValue {
    guard let value = try? JSONValue(parsing: Array(text.utf8)) else { preconditionFailure("not JSON: \(text)") }
    return value
  }

  private mutating func below(_ limit: Int) -> Int { random.below(limit) }
}
