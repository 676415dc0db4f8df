import EventLoop
import JSON
import Sidecar
import Telemetry

/// The apps of the Matrix push gateway: the file that is read again on SIGHUP.
@EventLoop
struct ServedMatrix {
  let file: MatrixFile
  let sidecar: Sidecar
  let log: Log

  /// Reads the file again and uses its apps. With a fault those in use stay.
  func reload() {
    let (apps, faults) = file.read()
    let path = ValueQuote.text(file.path, as: .path)
    guard let fault = faults.first else {
      sidecar.replace(matrixApps: apps)
      return log.info("apps of Matrix read again", ["path": .init(path)])
    }
    log.error(
      "the file of the apps of Matrix is invalid; the apps in use stay",
      [
        "setting": .init(MatrixFile.setting), "path": .init(path), "place": .init(fault.place),
        "seen": .init(fault.seen), "faults": .init(faults.count),
        "fix": .init("expected \(fault.expected); then send SIGHUP again"),
      ])
  }
}
