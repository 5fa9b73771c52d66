import RepriseCore
import RepriseWire

/// A page of the history route.
enum HistoryAnswer {
    /// `before` is hidden from this reader, and precedes what is gone for everybody.
    static func json(_ page: LogPage, before: Gone?, of channel: ChannelName) -> [UInt8] {
        let gone = (before.map { [$0] } ?? []) + page.gone
        let bodies = page.events.reduce(0) { $0 + $1.body.count + 128 }
        var json = JSONWriter(reserving: bodies + 256)
        json.object { answer in
            answer.key("channelId")
            answer.plain(channel.text)
            answer.key("epoch")
            answer.plain(page.state.epoch.text)
            answer.key("head")
            answer.integer(page.state.head)
            answer.key("floor")
            answer.integer(page.state.floor)
            answer.key("messages")
            answer.array { list in page.events.forEach { write($0, to: &list) } }
            guard !gone.isEmpty else { return }
            answer.key("gone")
            answer.array { list in gone.forEach { write($0, to: &list) } }
        }
        return json.bytes
    }

    private static func write(_ event: ServerFrame.Event, to json: inout JSONWriter) {
        json.object { message in
            message.key("seq")
            message.integer(event.seq)
            if event.prev != event.seq - 1 {
                message.key("prev")
                message.integer(event.prev)
            }
            message.key("id")
            message.plain(event.id.text)
            message.key("timestamp")
            message.integer(event.time.milliseconds)
            if let user = event.from {
                message.key("from")
                message.plain(user.text)
            }
            write(event.change, to: &message)
            if event.isDeleted {
                message.key("deleted")
                message.bool(true)
            }
            message.key("body")
            message.raw(event.body)
        }
    }

    private static func write(_ change: MessageChange<Int64>?, to message: inout JSONWriter) {
        switch change {
        case .edits(let seq):
            message.key("edits")
            message.integer(seq)
        case .deletes(let seq):
            message.key("deletes")
            message.integer(seq)
        case nil: break
        }
    }

    private static func write(_ gone: Gone, to json: inout JSONWriter) {
        json.object { range in
            range.key("after")
            range.integer(gone.range.after)
            range.key("through")
            range.integer(gone.range.through)
            range.key("reason")
            range.plain(gone.reason.rawValue)
        }
    }
}
