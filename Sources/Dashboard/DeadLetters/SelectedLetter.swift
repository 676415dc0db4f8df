import Operations
import Queue

/// A letter that an operator checked: where it was, and in which queue. The value of its box.
struct SelectedLetter: Sendable {
  let queue: String
  /// Of its job, for the audit log; empty if it has none that can be written here.
  let id: String
  let reference: BrowsedJob.Reference

  private static let parts = 5
  private static let maximumID = 128

  init(queue: String, id: String?, reference: BrowsedJob.Reference) {
    self.queue = queue
    let id = id ?? ""
    self.id = id.contains(",") || id.utf8.count > SelectedLetter.maximumID ? "" : id
    self.reference = reference
  }

  /// Reads `<score>,<skip>,<digest>,<id>,<queue>`. Returns nil for anything else: a form may be forged.
  init?(_ text: String) {
    let parts = text.split(separator: ",", maxSplits: SelectedLetter.parts - 1, omittingEmptySubsequences: false)
    guard parts.count == SelectedLetter.parts,
      let reference = BrowsedJob.Reference(parts.prefix(3).joined(separator: ","))
    else { return nil }
    self.init(queue: String(parts[4]), id: String(parts[3]), reference: reference)
  }

  var text: String { "\(reference.text),\(id),\(queue)" }

  /// Bytes of the names in a description. A page of letters with UUIDs is named whole.
  private static let maximumNames = 1500

  /// `dead letters a, b and 3 more`
  static func description(_ letters: [SelectedLetter]) -> String {
    guard !letters.isEmpty else { return "no dead letter" }
    var (shown, bytes): ([String], Int) = ([], 0)
    for letter in letters {
      bytes += letter.name.utf8.count + 2
      guard bytes <= maximumNames else { break }
      shown.append(letter.name)
    }
    let more = letters.count > shown.count ? " and \(letters.count - shown.count) more" : ""
    return "dead letter\(letters.count == 1 ? "" : "s") " + shown.joined(separator: ", ") + more
  }

  /// The id of its job; of a letter without one, its time.
  private var name: String {
    id.isEmpty ? "(no id, given up \(TimeText.exact(reference.position.milliseconds)))" : id
  }
}
