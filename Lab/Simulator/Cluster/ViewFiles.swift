import Foundation
import GRDB
import RepriseServer
import RepriseWire
import Synchronization

/// The files of one view, life after life.
///
/// A kill leaves them as they are, without a checkpoint: they are copied, and the copy is opened.
final class ViewFiles {
    /// What a process finds that starts.
    enum Left { case all, database, nothing }

    private let folder: URL
    private let epoch: Epoch
    private let configuration: ClusterView.Configuration
    private var life = 0

    init(
        in folder: URL, epoch: Epoch, implicitChannels: Bool = true, idsPerRun: Int? = nil
    ) {
        self.folder = folder
        self.epoch = epoch
        var configuration = ClusterView.Configuration()
        configuration.implicitChannels = implicitChannels
        configuration.log.readers = 1
        if let idsPerRun { configuration.log.idsPerRun = idsPerRun }
        self.configuration = configuration
    }

    func open() throws -> ClusterView {
        let file = place.appendingPathComponent("view.sqlite")
        if !FileManager.default.fileExists(atPath: file.path) {
            try FileManager.default.createDirectory(
                at: place, withIntermediateDirectories: true)
            try empty().write(to: file)
        }
        return try ClusterView.open(at: place.path, epoch: epoch, configuration)
    }

    /// An empty view, whose tables are made once in a process.
    private func empty() throws -> Data {
        try Self.made.withLock { made in
            if let view = made[epoch] { return view }
            let place = folder.appendingPathComponent("empty")
            defer { try? FileManager.default.removeItem(at: place) }
            try ClusterView.open(at: place.path, epoch: epoch, configuration).log.stepped.close()
            let view = try Data(contentsOf: place.appendingPathComponent("view.sqlite"))
            made[epoch] = view
            return view
        }
    }

    private static let made = Mutex<[Epoch: Data]>([:])

    /// After a death; closes the view of the former life.
    func reopen(_ left: Left, _ view: ClusterView) throws -> ClusterView {
        let (former, files) = (place, FileManager.default)
        life += 1
        try files.createDirectory(at: place, withIntermediateDirectories: true)
        let names =
            switch left {
            case .all: ["view.sqlite", "view.sqlite-wal"]
            case .database: ["view.sqlite"]
            case .nothing: [String]()
            }
        for name in names {
            let file = former.appendingPathComponent(name)
            guard files.fileExists(atPath: file.path) else { continue }
            try files.copyItem(at: file, to: place.appendingPathComponent(name))
        }
        view.log.stepped.close()
        try files.removeItem(at: former)
        return try open()
    }

    /// Puts a base in place of the view.
    func install(_ base: URL, replacing view: ClusterView) throws -> ClusterView {
        let (former, files) = (place, FileManager.default)
        life += 1
        try files.createDirectory(at: place, withIntermediateDirectories: true)
        try files.moveItem(at: base, to: place.appendingPathComponent("view.sqlite"))
        view.log.stepped.close()
        try files.removeItem(at: former)
        return try open()
    }

    /// Calls `body` with a place for a copy, which is gone afterwards.
    func copying<Value>(_ body: (URL) throws -> Value) throws -> Value {
        let copy = folder.appendingPathComponent("base.sqlite")
        try? FileManager.default.removeItem(at: copy)
        defer { try? FileManager.default.removeItem(at: copy) }
        return try body(copy)
    }

    /// Writes a row into the view that nobody else has.
    func damage() throws {
        let file = place.appendingPathComponent("view.sqlite")
        let queue = try DatabaseQueue(path: file.path)
        defer { try? queue.close() }
        try queue.write { db in
            try db.execute(sql: "INSERT OR IGNORE INTO silent_users (user) VALUES ('nobody')")
        }
    }

    private var place: URL { folder.appendingPathComponent("view-\(life)") }
}
