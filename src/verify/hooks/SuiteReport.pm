package SuiteReport;
# A TAP harness that writes one JSON line per test next to its own folder; prove and Test::Harness take it by HARNESS_SUBCLASS.
use strict;
use warnings;
use Cwd ();
use File::Basename ();
use Time::HiRes ();
use parent 'TAP::Harness';

my $FOLDER = File::Basename::dirname(File::Basename::dirname(File::Spec->rel2abs(__FILE__)));

sub quoted {
    my ($text) = @_;
    $text =~ s/([\\"])/\\$1/g;
    $text =~ s/([\x00-\x1f\x7f])/sprintf('\\u%04x', ord $1)/ge;
    return qq("$text");
}

sub new {
    my ($class, @rest) = @_;
    my $self = $class->SUPER::new(@rest);
    # What the tests themselves start is no part of the suite.
    delete $ENV{HARNESS_SUBCLASS};
    $ENV{SUITE_REPORT_TAKEN} = 1;
    my $path = sprintf '%s/prove-%d-%d.ndjson', $FOLDER, $$, Time::HiRes::time() * 1e6;
    open my $stream, '>', $path or return $self;
    $stream->autoflush(1);
    my $root = Cwd::getcwd();
    my $write = sub {
        my ($file, $names, $outcome, $message) = @_;
        $file = "$root/$file" unless $file =~ m{^/};
        printf {$stream} qq({"file":%s,"names":[%s],"outcome":"%s","message":%s}\n),
            quoted($file), join(',', map { quoted($_) } @$names), $outcome, quoted($message);
    };
    print {$stream} qq({"begin":"prove"}\n);
    $self->callback(made_parser => sub {
        my ($parser, $job) = @_;
        my $file = ref $job ? $job->[0] : $job;
        $parser->callback(test => sub {
            my ($test) = @_;
            my $said = $test->description;
            $said =~ s/^- //;
            my $outcome = ($test->has_skip || $test->has_todo) ? 'skip' : $test->is_ok ? 'pass' : 'fail';
            $write->($file, [length $said ? $said : 'test ' . $test->number], $outcome, '');
        });
    });
    $self->callback(after_test => sub {
        my ($job, $parser) = @_;
        my $file = $job->[0];
        my @failed = $parser->failed;
        if ($parser->skip_all) { $write->($file, [], 'skip', '') }
        elsif ($parser->has_problems && !@failed) {
            my @why = $parser->parse_errors;
            push @why, 'exit status ' . $parser->exit if $parser->exit;
            push @why, 'no test was run' unless $parser->tests_run;
            $write->($file, [], 'fail', join('; ', @why)) if @why;
        }
    });
    $self->callback(after_runtests => sub {
        print {$stream} qq({"end":true}\n);
        close $stream;
    });
    return $self;
}

1;
