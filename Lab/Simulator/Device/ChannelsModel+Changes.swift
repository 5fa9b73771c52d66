import RepriseCore
import RepriseWire

/// Edits and deletions in the model: what `MessageInsertion` and `Blanking` do with rows.
extension ChannelsModel {
    private static let blank = Array("null".utf8)

    mutating func insert(_ event: ServerFrame.Event, arrival: Int64, in log: Int) {
        var message = Stored(event, arrival: arrival)
        if isDeleted(event, in: log) {
            message.isDeleted = true
            message.body = Self.blank
        }
        logs[log].messages.append(message)
        if let change = event.change { logs[log].changed.insert(change) }
        applyChange(of: event, in: log)
        if message.isDeleted { blank(event.seq, in: log) }
    }

    /// An event that came in a former epoch has come again under a sequence of this one.
    mutating func recognise(_ event: ServerFrame.Event, arrival: Int64, in log: Int) {
        logs[log].aliases[event.seq] = arrival
        if let change = event.change {
            logs[log].changed.insert(change)
            logs[log].formerChanges[event.seq] = change
        }
        applyChange(of: event, in: log)
        if isDeleted(event, in: log) { blank(event.seq, in: log) }
    }

    private func isDeleted(_ event: ServerFrame.Event, in log: Int) -> Bool {
        if event.isDeleted || logs[log].changed.contains(.deletes(event.seq)) { return true }
        guard case .edits(let target) = event.change else { return false }
        if logs[log].changed.contains(.deletes(target)) { return true }
        return place(of: target, in: log).map { logs[$0.log].messages[$0.index].isDeleted } ?? false
    }

    private mutating func applyChange(of event: ServerFrame.Event, in log: Int) {
        guard case .deletes(let target) = event.change else { return }
        blank(target, in: log)
    }

    private mutating func blank(_ seq: Int64, in log: Int) {
        blankEdits(of: seq, in: log)
        guard let place = place(of: seq, in: log) else { return }
        blank(place.index, of: place.log)
        let message = logs[place.log].messages[place.index]
        blankEdits(of: message.seq, in: place.log)
        // Edits of other epochs name it by the sequence that it had then.
        for other in logs.indices {
            for (seq, arrival) in logs[other].aliases where arrival == message.arrival {
                blankEdits(of: seq, in: other)
            }
        }
    }

    private mutating func blankEdits(of seq: Int64, in log: Int) {
        guard logs[log].changed.contains(.edits(seq)) else { return }
        for index in logs[log].messages.indices
        where logs[log].messages[index].change == .edits(seq) {
            blank(index, of: log)
        }
        for (edit, change) in logs[log].formerChanges where change == .edits(seq) {
            guard let place = place(of: edit, in: log) else { continue }
            blank(place.index, of: place.log)
        }
    }

    private mutating func blank(_ index: Int, of log: Int) {
        logs[log].messages[index].isDeleted = true
        logs[log].messages[index].body = Self.blank
    }

    /// Where the message of this sequence lies: in this log, or in a former one.
    private func place(of seq: Int64, in log: Int) -> (log: Int, index: Int)? {
        if let index = logs[log].messages.firstIndex(where: { $0.seq == seq }) {
            return (log, index)
        }
        guard let arrival = logs[log].aliases[seq] else { return nil }
        let former = Int(arrival >> Self.arrivalBits) - 1
        return logs[former].messages.firstIndex { $0.arrival == arrival }.map { (former, $0) }
    }
}
