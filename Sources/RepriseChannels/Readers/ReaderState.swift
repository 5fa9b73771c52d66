public import RepriseCore
import RepriseWire

/// The state of a reader of a channel.
///
/// A channel may be ``ChannelState/live`` while a reader is stuck: everything is in the journal,
/// but the reader's progress is not.
public enum ReaderState: Equatable, Sendable {
    /// It delivers new messages, or waits for them.
    case running
    /// Its handler's results cannot be written to the journal, as with a full disk.
    ///
    /// Nothing is lost: the write is retried, with growing pauses up to 30 s, and ``running``
    /// follows. Until then nothing more is delivered once its window of doubt is full, and
    /// `caughtUp()` waits.
    case stuck(RepriseError)
    /// Its handler has had this message since then, for longer than ``ReaderOptions/deadline``.
    ///
    /// The handler continues, and so does this state until it returns: then ``running`` follows.
    /// Until then the reader gets no other message, and `caughtUp()` waits.
    case slow(EntryID, since: WallTime)
}

extension Channel {
    /// The states of this channel's readers, by name; those of this process, running or about to.
    public var readers: [String: ReaderState] { channels.readers.states(of: name) }

    /// The readers' states: the current ones, then each change.
    ///
    /// Buffers the newest value; older ones are dropped.
    public var readerStates: AsyncStream<[String: ReaderState]> {
        let readers = channels.readers
        return channels.watch(name) { [name] _ in readers.states(of: name) }
    }
}

extension Readers {
    /// The first stuck or slow reader, in words.
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
