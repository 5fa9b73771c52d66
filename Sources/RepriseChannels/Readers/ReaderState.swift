public import RepriseCore
import RepriseWire

/// How a reader of a channel is doing.
///
/// A channel may be ``ChannelState/live`` while a reader is stuck: everything is in the journal,
/// and what the reader has done is not.
public enum ReaderState: Equatable, Sendable {
    /// It hands over what comes, or waits for it.
    case running
    /// What its handler has done cannot be written to the journal: a full disk, say.
    ///
    /// Nothing is lost: it is tried again, with growing pauses up to 30 s, and ``running`` follows.
    /// Until then nothing more is handed over once its window of doubt is full, and
    /// ``Channel/caughtUp()`` waits.
    case stuck(RepriseError)
    /// Its handler has had this message since then, for longer than ``ReaderOptions/deadline``.
    ///
    /// It goes on, and so does this state until it returns: then ``running`` follows. Until then
    /// the reader gets nothing else, and ``Channel/caughtUp()`` waits.
    case slow(EntryID, since: WallTime)
}

extension Channel {
    /// How the readers of this channel are doing, by their names; those of this process, running or
    /// about to.
    public var readers: [String: ReaderState] { channels.readers.states(of: name) }

    /// The same: first now, then whenever one of them is stuck or slow, or no longer so.
    ///
    /// Who reads slowly gets the newest.
    public var readerStates: AsyncStream<[String: ReaderState]> {
        let readers = channels.readers
        return channels.watch(name) { [name] _ in readers.states(of: name) }
    }
}

extension Readers {
    /// The first of them that is stuck or slow, in words.
    func complaint(in channel: ChannelName) -> String? {
        for (name, state) in states(of: channel).sorted(by: { $0.key < $1.key }) {
            switch state {
            case .running: continue
            case .stuck(let error):
                return "The reader \(name) cannot write down what it has done: \(error.message)"
            case .slow(let id, _):
                return
                    "The reader \(name) has the message \(id) in its handler, beyond its deadline."
            }
        }
        return nil
    }
}
