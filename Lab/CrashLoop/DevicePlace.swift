import Foundation

/// Where everything of one device is; its processes come and go.
struct DevicePlace: Sendable {
    let folder: URL

    var journal: URL { folder.appendingPathComponent("journal") }
    /// What `publish` has returned from.
    var promises: String { path("promises") }
    var log: String { path("log") }

    /// What a reader's handler has done.
    func effects(_ reader: KilledReader) -> String { path("effects-\(reader.rawValue)") }

    private func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

    func make() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }
}

/// The readers whose effect is a line in a file.
enum KilledReader: String, CaseIterable, Sendable {
    case again, applied, never
}
