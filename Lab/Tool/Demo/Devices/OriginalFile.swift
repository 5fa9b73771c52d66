import Foundation
import RepriseCore
import RepriseWire

/// A channel's effects on a device of the original app, and by them its position.
///
/// The highest sequence in the file is the position, so effect and position are one write: safer
/// than any store of the original.
struct OriginalFile: Sendable {
    private let effects: CheckerFile
    private let epochPath: String
    /// The position at the start.
    let highest: Int64
    /// The log epoch of the position.
    private(set) var epoch: Epoch?

    init(_ path: String) throws {
        effects = try CheckerFile(path)
        epochPath = path + ".epoch"
        var log = EffectLog(path)
        try log.update()
        highest = log.highest
        epoch = (try? String(contentsOfFile: epochPath, encoding: .utf8)).flatMap { try? Epoch($0) }
    }

    mutating func keep(_ subscribed: ServerFrame.Subscribed) throws {
        guard epoch != subscribed.epoch else { return }
        epoch = subscribed.epoch
        try Data(subscribed.epoch.text.utf8)
            .write(to: URL(fileURLWithPath: epochPath), options: .atomic)
    }

    func append(_ event: ServerFrame.Event) throws {
        try effects.append(seq: event.seq, id: event.id, attempt: 1)
    }
}
