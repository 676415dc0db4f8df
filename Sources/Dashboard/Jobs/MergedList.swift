import EventLoop
import Operations
import Queue
import Redis

/// Sorted sets that a page shows as one list, a part of it at a time.
///
/// The cursor of a part has the place in each set: `*` its beginning, `-` nothing left of it, else a position.
struct MergedList {
  /// Where a part begins in each set.
  struct Position: Equatable {
    enum Place: Equatable {
      case beginning
      case position(SortedPosition)
      case end

      var position: SortedPosition? {
        if case .position(let position) = self { position } else { nil }
      }
    }

    var places: [Place]

    private static let separator: Character = "~"

    /// The beginning of `count` sets.
    init(count: Int) {
      places = Array(repeating: .beginning, count: count)
    }

    /// Reads the cursor of `count` sets. Returns nil for any other text: a page's address may be forged.
    init?(_ text: String, count: Int) {
      let parts = text.split(separator: Position.separator, omittingEmptySubsequences: false)
      guard parts.count == count else { return nil }
      var places: [Place] = []
      for part in parts {
        switch part {
        case "*": places.append(.beginning)
        case "-": places.append(.end)
        default:
          guard let position = SortedPosition(part) else { return nil }
          places.append(.position(position))
        }
      }
      self.places = places
    }

    var text: String {
      places.map { place in
        switch place {
        case .beginning: "*"
        case .end: "-"
        case .position(let position): position.text
        }
      }.joined(separator: String(Position.separator))
    }
  }

  struct Entry {
    /// The number of its set.
    let source: Int
    let job: BrowsedJob
  }

  let entries: [Entry]
  /// Members that were examined.
  let examined: Int
  /// Where the next part begins; nil after the last entry.
  let next: Position?

  /// Reads the part that the cursor of the request names. `read` returns a page of a set, from a position or its beginning.
  @EventLoop
  static func read<Source>(
    _ sources: [Source], _ request: PageRequest, isDescending: Bool, limit: Int,
    _ read: @EventLoop (Source, SortedPosition?) async throws(RedisError) -> BrowsedPage
  ) async throws(PageError) -> MergedList {
    var cursor = Position(count: sources.count)
    if let text = request.query("cursor") {
      guard let read = Position(text, count: sources.count) else { throw .badCursor }
      cursor = read
    }
    var pages: [BrowsedPage?] = []
    for (source, place) in zip(sources, cursor.places) {
      pages.append(place == .end ? nil : try await refusingFaults(await read(source, place.position)))
    }
    return MergedList(pages, from: cursor, isDescending: isDescending, limit: limit)
  }

  /// Merges one page of each set, the highest score first if `isDescending`, else the lowest.
  ///
  /// - Parameter pages: nil for a set of which nothing is left. A page that is cut short by a limit of what it examined
  ///   has a next one; of the other sets, nothing beyond its place is shown yet.
  init(_ pages: [BrowsedPage?], from cursor: Position, isDescending: Bool, limit: Int) {
    func isBefore(_ one: SortedPosition?, _ other: SortedPosition?) -> Bool {
      guard let one, let other, let first = one.value, let second = other.value else { return false }
      return isDescending ? first > second : first < second
    }
    let horizon = pages.compactMap { $0?.next }.min { isBefore($0, $1) }
    var all: [Entry] = []
    for (source, page) in pages.enumerated() {
      for job in page?.jobs ?? [] where horizon == nil || !isBefore(horizon, job.position) {
        all.append(Entry(source: source, job: job))
      }
    }
    all.sort { isBefore($0.job.position, $1.job.position) }
    entries = Array(all.prefix(limit))
    examined = pages.reduce(0) { $0 + ($1?.examined ?? 0) }
    var places = cursor.places
    for (source, page) in pages.enumerated() {
      guard let page else { continue }
      let shown = entries.filter { $0.source == source }
      if shown.count == page.jobs.count {
        places[source] = page.next.map(Position.Place.position) ?? .end
      } else if let last = shown.last?.job.position {
        places[source] = .position(last.following)
      }
    }
    var next = cursor
    next.places = places
    self.next = places.allSatisfy { $0 == .end } ? nil : next
  }
}
