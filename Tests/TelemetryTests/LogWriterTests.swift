import EventLoop
import Foundation
import TestSupport
import Testing

@testable import Telemetry

/// Lines of a log that are written to a pipe.
struct LogWriterTests {
  private struct Pipe {
    let (reading, writing): (Int32, Int32)

    init() throws {
      var ends: [Int32] = [0, 0]
      try #require(pipe(&ends) == 0)
      (reading, writing) = (ends[0], ends[1])
    }

    /// Reads until there is a line that ends with `end`. Returns all lines.
    func lines(until end: String, containing text: String = "") -> [String] {
      let text = Array(text.utf8)
      let end = Array("\(end)\n".utf8)
      var bytes: [UInt8] = []
      var part = [UInt8](repeating: 0, count: 4096)
      while !bytes.ends(with: end) || !bytes.suffix(200).contains(text) {
        let read = part.withUnsafeMutableBytes { Foundation.read(reading, $0.baseAddress, $0.count) }
        guard read > 0 else { break }
        bytes += part[..<read]
      }
      return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }
  }

  /// A line of 200 bytes or more.
  private static func line(_ number: Int) -> String {
    "\(number) " + String(repeating: "x", count: 200 + number % 7 * 1000) + "\n"
  }

  @Test func `a slow reader gets every line, whole and in order`() async throws {
    let pipe = try Pipe()
    let writer = LogWriter(descriptor: pipe.writing, patience: patience)
    let count = 3 * LogWriter.maximumBytes / 3200
    async let read = blocking { pipe.lines(until: "end") }
    for number in 0..<count { writer.write(Self.line(number)) { _ in "dropped\n" } }
    writer.write("end\n") { _ in "dropped\n" }
    #expect(writer.flush(within: patience))
    #expect(try await read == (0..<count).map { String(Self.line($0).dropLast()) } + ["end"])
  }

  @Test func `lines that nobody reads are dropped and counted`() async throws {
    let pipe = try Pipe()
    // The reader comes later, so the wait must end without one.
    let patience = Duration.milliseconds(50)
    let writer = LogWriter(descriptor: pipe.writing, patience: patience)
    let count = 3 * LogWriter.maximumBytes / 3200
    for number in 0..<count { writer.write(Self.line(number)) { "\($0) dropped\n" } }
    #expect(!writer.flush(within: patience))
    let lines = try await blocking { pipe.lines(until: " dropped") }
    let written = lines.count - 1
    #expect(lines.dropLast() == (0..<written).map { String(Self.line($0).dropLast()) }[...])
    #expect(lines.last == "\(count - written) dropped")
    #expect(written > 0 && written < count)
    writer.write("after\n") { _ in "" }
    #expect(try await blocking { pipe.lines(until: "after") } == ["after"])
  }

  @Test func `a reader that is gone stops nobody`() throws {
    signal(SIGPIPE, SIG_IGN)
    let pipe = try Pipe()
    close(pipe.reading)
    let writer = LogWriter(descriptor: pipe.writing, patience: patience)
    for number in 0..<2000 { writer.write(Self.line(number)) { _ in "" } }
    #expect(writer.flush(within: patience))
  }

  @Test func `the line that tells how many were dropped is one of the log`() async throws {
    let pipe = try Pipe()
    let log = Log(level: .error, writer: LogWriter(descriptor: pipe.writing, patience: .zero))
    for _ in 0..<2 * LogWriter.maximumBytes / 500 {
      log.error("unread", ["text": .init(String(repeating: "x", count: 500))])
    }
    let lines = try await blocking { pipe.lines(until: "}", containing: "were dropped") }
    let notice = #""level":"warn","message":"log lines were dropped, as nobody read stderr","lines":"#
    #expect(lines.last?.contains(notice) == true)
  }
}

extension [UInt8] {
  fileprivate func ends(with end: [UInt8]) -> Bool { suffix(end.count) == end[...] }
}
