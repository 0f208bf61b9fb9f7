//! Streams like those of the C library: calls move bytes to or from a buffer, and only a full or an empty buffer
//! makes a system call. A call at least as large as the buffer bypasses it, as in glibc. Streams are meant for
//! sequential access; a seek costs a flush or a refill, as with `fseek`.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// An output stream.
pub(super) struct WriteStream {
    file: usize,
    /// Offset in the file of the buffer's first byte.
    start: u64,
    filled: usize,
    buffer: Vec<u8>,
}

impl WriteStream {
    /// A stream with a buffer of `capacity` bytes.
    pub fn new(capacity: usize) -> Self {
        Self { file: 0, start: 0, filled: 0, buffer: vec![0; capacity] }
    }

    /// Writes a block in calls of `call` bytes.
    ///
    /// # Errors
    /// The kernel's error, from a call that found the buffer full.
    pub fn write(
        &mut self,
        files: &[File],
        file: usize,
        at: u64,
        block: &[u8],
        call: usize,
    ) -> io::Result<usize> {
        if file != self.file || at != self.start + self.filled as u64 {
            self.flush(files)?;
            (self.file, self.start) = (file, at);
        }
        if call == 1 {
            for byte in block {
                self.put_byte(files, *byte)?;
            }
        } else {
            for piece in block.chunks(call) {
                self.put(files, piece)?;
            }
        }
        Ok(block.len())
    }

    /// Like `putc`; not inlined, because the cost of a library call is measured.
    #[inline(never)]
    fn put_byte(&mut self, files: &[File], byte: u8) -> io::Result<()> {
        self.buffer[self.filled] = byte;
        self.filled += 1;
        if self.filled == self.buffer.len() { self.flush(files) } else { Ok(()) }
    }

    /// Like `fwrite`.
    #[inline(never)]
    fn put(&mut self, files: &[File], mut piece: &[u8]) -> io::Result<()> {
        while !piece.is_empty() {
            if self.filled == 0 && piece.len() >= self.buffer.len() {
                let whole = piece.len() / self.buffer.len() * self.buffer.len();
                files[self.file].write_all_at(&piece[..whole], self.start)?;
                self.start += whole as u64;
                piece = &piece[whole..];
                continue;
            }
            let n = piece.len().min(self.buffer.len() - self.filled);
            self.buffer[self.filled..self.filled + n].copy_from_slice(&piece[..n]);
            self.filled += n;
            piece = &piece[n..];
            if self.filled == self.buffer.len() {
                self.flush(files)?;
            }
        }
        Ok(())
    }

    /// Writes what the buffer holds.
    ///
    /// # Errors
    /// The kernel's error; the data that could not be written are lost.
    pub fn flush(&mut self, files: &[File]) -> io::Result<()> {
        let held = std::mem::take(&mut self.filled);
        let start = self.start;
        self.start += held as u64;
        if held == 0 {
            return Ok(());
        }
        files[self.file].write_all_at(&self.buffer[..held], start)
    }
}

/// An input stream.
pub(super) struct ReadStream {
    file: usize,
    /// Offset in the file of the next byte that is not in the buffer.
    next: u64,
    /// The part of the buffer that has not been consumed.
    taken: usize,
    filled: usize,
    buffer: Vec<u8>,
    /// Why the last byte could not be read; `None` at the end of the file.
    error: Option<io::Error>,
}

/// What `getc` returns when there is no byte.
const NONE: i32 = -1;

impl ReadStream {
    /// A stream with a buffer of `capacity` bytes.
    pub fn new(capacity: usize) -> Self {
        Self { file: 0, next: 0, taken: 0, filled: 0, buffer: vec![0; capacity], error: None }
    }

    /// Reads a block in calls of `call` bytes; fewer bytes only at the end of the file.
    ///
    /// # Errors
    /// The kernel's error, from a call that found the buffer empty.
    pub fn read(
        &mut self,
        files: &[File],
        file: usize,
        at: u64,
        block: &mut [u8],
        call: usize,
    ) -> io::Result<usize> {
        if file != self.file || at + (self.filled - self.taken) as u64 != self.next {
            (self.file, self.next, self.taken, self.filled) = (file, at, 0, 0);
        }
        let mut done = 0;
        if call == 1 {
            for byte in block {
                match self.get_byte(files) {
                    NONE => return self.error.take().map_or(Ok(done), Err),
                    got => *byte = got as u8,
                }
                done += 1;
            }
            return Ok(done);
        }
        for piece in block.chunks_mut(call) {
            let (wanted, got) = (piece.len(), self.get(files, piece)?);
            done += got;
            if got < wanted {
                break;
            }
        }
        Ok(done)
    }

    /// Like `getc`; not inlined, because the cost of a library call is measured.
    #[inline(never)]
    fn get_byte(&mut self, files: &[File]) -> i32 {
        if self.taken == self.filled && !self.fill(files) {
            return NONE;
        }
        let byte = self.buffer[self.taken];
        self.taken += 1;
        i32::from(byte)
    }

    /// Like `fread`.
    #[inline(never)]
    fn get(&mut self, files: &[File], piece: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while done < piece.len() {
            let left = self.filled - self.taken;
            let wanted = piece.len() - done;
            if left == 0 && wanted >= self.buffer.len() {
                let whole = wanted / self.buffer.len() * self.buffer.len();
                match files[self.file].read_at(&mut piece[done..done + whole], self.next)? {
                    0 => break,
                    n => {
                        self.next += n as u64;
                        done += n;
                    }
                }
                continue;
            }
            if left == 0 && !self.fill(files) {
                return self.error.take().map_or(Ok(done), Err);
            }
            let n = wanted.min(self.filled - self.taken);
            piece[done..done + n].copy_from_slice(&self.buffer[self.taken..self.taken + n]);
            self.taken += n;
            done += n;
        }
        Ok(done)
    }

    /// Refills the buffer. False if nothing could be read.
    #[cold]
    fn fill(&mut self, files: &[File]) -> bool {
        match files[self.file].read_at(&mut self.buffer, self.next) {
            Ok(n) => {
                self.next += n as u64;
                (self.taken, self.filled) = (0, n);
                n > 0
            }
            Err(error) => {
                self.error = Some(error);
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: usize = 10_000;

    fn content() -> Vec<u8> {
        (0..BYTES).map(|i| (i * 31 % 251) as u8).collect()
    }

    #[test]
    fn streams_match_the_file_for_any_call_and_buffer_size() {
        for (call, capacity, block) in
            [(1, 4096, 1000), (7, 64, 700), (1000, 64, 1000), (64, 64, 640), (100, 64, 500)]
        {
            let files = [tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap()];
            let mut stream = WriteStream::new(capacity);
            for (i, part) in content().chunks(block).enumerate() {
                let moved = stream.write(&files, 1, (i * block) as u64, part, call).unwrap();
                assert_eq!(moved, part.len());
            }
            stream.flush(&files).unwrap();
            assert_eq!(files[0].metadata().unwrap().len(), 0);
            let mut back = vec![0; BYTES + 10];
            let mut stream = ReadStream::new(capacity);
            let half = BYTES / 2;
            assert_eq!(stream.read(&files, 1, 0, &mut back[..half], call).unwrap(), half);
            let rest = stream.read(&files, 1, half as u64, &mut back[half..], call).unwrap();
            assert_eq!(rest, BYTES - half, "the file ends before the block: {call} {capacity}");
            assert_eq!(back[..BYTES], content(), "{call} {capacity}");
        }
    }

    #[test]
    fn a_seek_flushes_the_buffer_and_refills_it() {
        let files = [tempfile::tempfile().unwrap()];
        let mut stream = WriteStream::new(100);
        stream.write(&files, 0, 50, b"later", 1).unwrap();
        stream.write(&files, 0, 0, b"first", 1).unwrap();
        assert_eq!(files[0].metadata().unwrap().len(), 55, "the seek has flushed the buffer");
        stream.flush(&files).unwrap();
        let mut stream = ReadStream::new(100);
        let mut read = |at: u64| {
            let mut got = [0; 5];
            stream.read(&files, 0, at, &mut got, 1).unwrap();
            got
        };
        assert_eq!((&read(50), &read(0)), (b"later", b"first"));
    }

    #[test]
    fn only_a_full_buffer_is_written_and_its_error_is_returned() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let files = [full];
        let mut stream = WriteStream::new(8);
        assert_eq!(stream.write(&files, 0, 0, b"1234567", 1).unwrap(), 7);
        let error = stream.write(&files, 0, 7, b"8", 1).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOSPC));
        let unreadable = [File::options().write(true).open("/dev/full").unwrap()];
        let error = ReadStream::new(8).read(&unreadable, 0, 0, &mut [0; 4], 1).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EBADF));
    }
}
