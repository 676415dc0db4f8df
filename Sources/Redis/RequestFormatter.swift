import CHiredis

/// Writes commands in the form of the protocol (RESP 2) with hiredis.
enum RequestFormatter {
  /// False when memory ran out.
  static func append(_ command: RedisCommand, to output: inout [UInt8]) -> Bool {
    command.withWords { bytes, ends in
      withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: ends.count) { words in
        withUnsafeTemporaryAllocation(of: Int.self, capacity: ends.count) { lengths in
          var start = 0
          for (index, end) in ends.enumerated() {
            words[index] = bytes.baseAddress.map { UnsafeRawPointer($0 + start).assumingMemoryBound(to: CChar.self) }
            lengths[index] = end - start
            start = end
          }
          var formatted: UnsafeMutablePointer<CChar>?
          // The variant that does not go through printf for each word: a tenth of the other's instructions.
          let count = redisFormatSdsCommandArgv(&formatted, Int32(ends.count), words.baseAddress, lengths.baseAddress)
          guard count >= 0, let formatted else { return false }
          output.append(contentsOf: UnsafeRawBufferPointer(start: formatted, count: Int(count)))
          redisFreeSdsCommand(formatted)
          return true
        }
      }
    }
  }
}
